"""Every error says what is wrong, where, and how to put it right."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from hmas.daemon.admin.errors import problem_of
from hmas.daemon.wire import ControlsRequest


@pytest.mark.parametrize(
    ("body", "field", "fix"),
    [
        ({"n_run": 1}, "reason", "add this field"),
        ({"n_run": 1.5, "reason": "because"}, "n_run", "send a whole number"),
        ({"n_run": "many", "reason": "because"}, "n_run", "send a whole number"),
        ({"n_rum": 1, "n_run": 1, "reason": "because"}, "n_rum", "remove this field"),
    ],
)
def test_problems_in_words(body: dict[str, object], field: str, fix: str) -> None:
    with pytest.raises(ValidationError) as caught:
        ControlsRequest.model_validate(body)
    first = caught.value.errors()[0]
    problem = problem_of({**first, "loc": ("body", *first["loc"])})
    assert problem.field == field
    assert fix in problem.fix


def test_our_own_words_come_without_a_preface() -> None:
    error = {"loc": ("body",), "msg": "Value error, give one of them", "type": "value_error"}
    problem = problem_of(error)
    assert problem.message == "give one of them"
    assert problem.field == "body"
