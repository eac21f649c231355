from __future__ import annotations

import random
from multiprocessing.sharedctypes import RawArray

from hypothesis import given
from hypothesis import strategies as st

from hmas.daemon.gateway.limits import JITTER, WINDOW_S, CountTable, DrainRate


def test_workers_see_each_others_counts() -> None:
    cells = RawArray("q", 2 * 3)
    first = CountTable(3, rows=2, row=0, cells=cells)
    second = CountTable(3, rows=2, row=1, cells=cells)
    first.add(1, 2)
    second.add(1, 5)
    second.add(2, 1)
    assert first.total(1) == second.total(1) == 7
    assert (first.own(1), second.own(1)) == (2, 5)
    assert (first.total(0), first.total(2)) == (0, 1)


def test_a_restarted_worker_begins_at_zero() -> None:
    cells = RawArray("q", 2 * 2)
    CountTable(2, rows=2, row=0, cells=cells).add(0, 3)
    CountTable(2, rows=2, row=1, cells=cells).add(0, 4)
    assert CountTable(2, rows=2, row=0, cells=cells).total(0) == 4


def test_retry_after_grows_with_those_turned_away_and_shrinks_with_the_rate() -> None:
    slow, fast = (DrainRate(3600, random.Random(1)) for _ in range(2))
    for number in range(10):
        slow.left(number / 10)
    for number in range(1000):
        fast.left(number / 1000)
    waits = [slow.retry_after_s(1.0) for _ in range(50)]
    assert 50 <= waits[-1] <= 50 * (1 + JITTER) + 1
    assert waits[0] < waits[-1]
    assert [fast.retry_after_s(1.0) for _ in range(50)][-1] == 1


def test_when_nothing_leaves_the_cap_is_the_answer() -> None:
    rate = DrainRate(17, random.Random(1))
    assert rate.retry_after_s(0.0) == 17
    rate.left(0.0)
    assert rate.retry_after_s(WINDOW_S + 1) == 17


@given(
    st.integers(1, 3600),
    st.lists(st.floats(0, 30), max_size=60),
    st.lists(st.floats(0, 30), min_size=1, max_size=60),
)
def test_retry_after_is_whole_positive_and_capped(
    cap: int, left: list[float], asked: list[float]
) -> None:
    rate = DrainRate(cap, random.Random(2))
    for at_s in sorted(left):
        rate.left(at_s)
    for at_s in sorted(asked):
        assert 1 <= rate.retry_after_s(30 + at_s) <= cap
