"""Overrides in force: one per kind and target, an engine's own before the one for all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.controllers.overrides import ControlOverride, KillSwitch, Pin
from hmas.daemon.control.overrides import OverrideBook, RevisionError, UnknownOverrideError
from hmas.storage.records import ALL_ENGINES, OverrideKind, OverrideRecord


def put(
    book: OverrideBook,
    kind: OverrideKind = OverrideKind.PIN,
    target: str = "engine0",
    topology: str = "edf",
    expires_at_s: float | None = None,
) -> list[OverrideRecord]:
    payload = {"topology": topology} if kind is OverrideKind.PIN else {}
    return book.put(
        kind,
        target,
        payload,
        reason="because",
        owner="op",
        now_s=10.0,
        expires_at_s=expires_at_s,
    )


def test_the_controllers_get_their_own_types() -> None:
    book = OverrideBook()
    put(book)
    put(book, OverrideKind.BYPASS_SWITCH)
    book.put(OverrideKind.CONTROLS, "engine0", {"n_run": 4}, reason="less", owner="op", now_s=10.0)
    overrides = book.of_engine("engine0")
    assert overrides.pin == Pin(topology="edf", reason="because", owner="op", created_at_s=10.0)
    assert overrides.kill_switch == KillSwitch(reason="because", owner="op", created_at_s=10.0)
    assert overrides.controls == ControlOverride(
        n_run=4, reason="less", owner="op", created_at_s=10.0
    )


def test_an_engines_own_override_wins_over_the_one_for_all() -> None:
    book = OverrideBook()
    put(book, target=ALL_ENGINES, topology="wfq")
    put(book, target="engine0", topology="sjf")
    for engine_id, topology in (("engine0", "sjf"), ("engine1", "wfq")):
        pin = book.of_engine(engine_id).pin
        assert pin is not None
        assert pin.topology == topology


def test_a_new_one_replaces_the_old_one_of_its_kind_and_target() -> None:
    book = OverrideBook()
    [first] = put(book)
    second, replaced = put(book, topology="wfq")
    assert replaced.id == first.id
    assert (replaced.revoked_at_s, replaced.revoked_by) == (10.0, "op")
    assert book.held() == [second]
    assert book.revision == 2


def test_cancel_takes_the_right_kind_only() -> None:
    book = OverrideBook()
    [pin] = put(book)
    with pytest.raises(UnknownOverrideError):
        book.cancel(OverrideKind.CONTROLS, pin.id, "op", 11.0)
    assert book.cancel(OverrideKind.PIN, pin.id, "op", 11.0).revoked_at_s == 11.0
    assert book.of_engine("engine0").pin is None
    with pytest.raises(UnknownOverrideError):
        book.cancel(OverrideKind.PIN, pin.id, "op", 12.0)


def test_expiry_ends_it_and_raises_the_revision() -> None:
    book = OverrideBook()
    [pin] = put(book, expires_at_s=20.0)
    assert book.expire(19.9) == []
    assert book.expire(20.0) == [pin]
    assert book.revision == 2
    assert book.held() == []


def test_a_stale_revision_is_refused() -> None:
    book = OverrideBook()
    put(book)
    book.check(None)
    book.check(1)
    with pytest.raises(RevisionError, match="at revision 1, not 0"):
        book.check(0)


def test_what_storage_held_is_in_force_again() -> None:
    book = OverrideBook()
    [pin] = put(book)
    again = OverrideBook([pin])
    assert again.of_engine("engine0") == book.of_engine("engine0")


@given(
    st.lists(
        st.tuples(
            st.sampled_from(list(OverrideKind)),
            st.sampled_from([ALL_ENGINES, "a", "b"]),
            st.sampled_from(["put", "cancel", "expire"]),
        ),
        max_size=20,
    )
)
def test_never_two_of_a_kind_on_one_target(
    steps: list[tuple[OverrideKind, str, str]],
) -> None:
    book = OverrideBook()
    revision = 0
    for kind, target, action in steps:
        if action == "put":
            put(book, kind, target, expires_at_s=20.0)
        elif action == "cancel" and book.held():
            newest = book.held()[0]
            book.cancel(newest.kind, newest.id, "op", 11.0)
        elif action == "expire":
            book.expire(25.0)
        assert book.revision >= revision
        revision = book.revision
        keys = [(record.kind, record.engine_id) for record in book.held()]
        assert len(keys) == len(set(keys))
