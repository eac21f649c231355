"""Revisions out of headers and queries."""

from __future__ import annotations

import pytest

from hmas.daemon.admin.dependencies import expected_revision, merged_revision
from hmas.daemon.admin.port import InvalidInputError


@pytest.mark.parametrize(
    ("header", "revision"),
    [(None, None), ("*", None), ('"7"', 7), ('W/"7"', 7), ("7", 7), (' "0" ', 0)],
)
def test_an_etag_is_a_revision(header: str | None, revision: int | None) -> None:
    assert expected_revision(header) == revision


@pytest.mark.parametrize("header", ["soon", '"-1"', "", "٣"])
def test_anything_else_is_refused(header: str) -> None:
    with pytest.raises(InvalidInputError, match="not a revision"):
        expected_revision(header)


def test_one_revision_of_two_places() -> None:
    assert merged_revision(None, 3) == merged_revision(3, None) == merged_revision(3, 3) == 3
    assert merged_revision(None, None) is None
    with pytest.raises(InvalidInputError, match="If-Match says 3"):
        merged_revision(3, 4)
