"""What waits, what goes first, and what may never go before something worth less."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.storage.buffer import RecordBuffer, Value, value_of
from hmas.storage.records import Record
from tests.storage.support import (
    audit,
    calibration,
    directive,
    finished,
    one_of_each,
    resume,
    view,
)

MAKERS = {Value.SAMPLE: finished, Value.HISTORY: audit, Value.ESSENTIAL: directive}


def made(value: Value, number: int) -> Record:
    name: str | int = number if value is Value.ESSENTIAL else str(number)
    return MAKERS[value](name)  # type: ignore[operator]


def test_views_and_requests_are_worth_least() -> None:
    samples = [r.record_kind for r in one_of_each() if value_of(r) is Value.SAMPLE]
    assert samples == ["view", "request", "training"]


def test_a_full_buffer_drops_the_oldest_sample_first() -> None:
    buffer = RecordBuffer(3)
    for record in (view(1.0), audit(), view(2.0)):
        assert buffer.put(record) is None
    assert buffer.put(directive(1)) == view(1.0)
    assert buffer.put(directive(2)) == view(2.0)
    assert buffer.put(directive(3)) == audit()
    assert buffer.put(directive(4)) == directive(1)


def test_a_sample_never_displaces_what_is_worth_more() -> None:
    buffer = RecordBuffer(1)
    buffer.put(directive(1))
    assert buffer.put(view()) == view()
    assert buffer.take(5) == [directive(1)]


def test_the_newer_of_equal_keys_takes_the_place_even_when_full() -> None:
    buffer = RecordBuffer(1)
    buffer.put(calibration(errors=[1.0]))
    assert buffer.put(calibration(errors=[2.0])) is None
    assert buffer.take(5) == [calibration(errors=[2.0])]


def test_the_most_valuable_are_taken_first() -> None:
    buffer = RecordBuffer(10)
    for record in (view(1.0), audit(), resume(), view(2.0)):
        buffer.put(record)
    assert buffer.take(3) == [resume(), audit(), view(1.0)]
    assert buffer.take(3) == [view(2.0)]
    assert buffer.take(3) == []


def test_room_for_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="capacity must be at least 1, not 0"):
        RecordBuffer(0)


@given(
    capacity=st.integers(1, 8),
    values=st.lists(st.sampled_from(list(Value)), max_size=60),
)
def test_nothing_goes_missing_and_the_dropped_are_worth_least(
    capacity: int, values: list[Value]
) -> None:
    buffer = RecordBuffer(capacity)
    records = [made(value, number) for number, value in enumerate(values, start=1)]
    dropped = [gone for record in records if (gone := buffer.put(record)) is not None]
    kept = buffer.take(capacity + 1)
    assert len(kept) == min(capacity, len(records))
    assert sorted(map(repr, dropped + kept)) == sorted(map(repr, records))
    best = sorted(map(value_of, records), reverse=True)[: len(kept)]
    assert [value_of(record) for record in kept] == best
