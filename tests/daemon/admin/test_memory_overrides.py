"""The overrides of the in-memory port."""

from __future__ import annotations

import pytest

from hmas.daemon.admin.memory_overrides import OverrideBook
from hmas.daemon.admin.port import RevisionConflictError, UnknownThingError
from hmas.daemon.wire import OverrideKind, PinRequest

PIN = OverrideKind.PIN


def pin(engine_id: str = "*", duration_s: float | None = None) -> PinRequest:
    return PinRequest(engine_id=engine_id, topology="edf", reason="because", duration_s=duration_s)


def test_an_engines_own_override_wins_over_the_one_for_all() -> None:
    book = OverrideBook()
    book.add(PIN, pin(), "ada", 0.0)
    own = book.add(PIN, pin("a"), "ada", 0.0)
    found = book.holding(PIN, "a")
    assert found is not None
    assert found.id == own.id
    assert book.holding(PIN, "b") is not None
    assert book.holding(OverrideKind.BYPASS, "a") is None


def test_the_remaining_time_shrinks_until_it_ends() -> None:
    book = OverrideBook()
    book.add(PIN, pin(duration_s=10), "ada", 100.0)
    assert book.all(104.0)[0].remaining_s == 6.0
    assert book.expire(109.9) == []
    assert [ended.kind for ended in book.expire(110.0)] == [PIN]
    assert book.all(110.0) == []
    assert book.revision == 2


def test_conflicts_and_strangers() -> None:
    book = OverrideBook()
    made = book.add(PIN, pin(), "ada", 0.0)
    with pytest.raises(RevisionConflictError, match="at revision 1, not 0"):
        book.cancel(PIN, made.id, 0.0, expected=0)
    with pytest.raises(UnknownThingError, match="no bypass"):
        book.cancel(OverrideKind.BYPASS, made.id, 0.0, expected=1)
