from __future__ import annotations

from hmas.controllers.prediction.length_sessions import UNKNOWN, SessionLengths


def test_last_mean_and_count() -> None:
    sessions = SessionLengths()
    assert sessions.numbers("a", "s") == list(UNKNOWN)
    sessions.add("a", "s", 2.0)
    assert sessions.numbers("a", "s") == [2.0, 2.0, 1.0]
    sessions.add("a", "s", 4.0)
    last, mean, count = sessions.numbers("a", "s")
    assert (last, count) == (4.0, 2.0)
    assert 2.0 < mean < 4.0


def test_sessions_belong_to_tenants() -> None:
    sessions = SessionLengths()
    sessions.add("a", "s", 2.0)
    assert sessions.numbers("b", "s") == list(UNKNOWN)
    sessions.add("a", None, 9.0)
    assert sessions.numbers("a", None) == list(UNKNOWN)


def test_the_oldest_are_forgotten() -> None:
    sessions = SessionLengths(limit=2)
    for name in ("first", "second", "first", "third"):
        sessions.add("a", name, 1.0)
    assert sessions.numbers("a", "second") == list(UNKNOWN)
    assert sessions.numbers("a", "first")[2] == 2.0
