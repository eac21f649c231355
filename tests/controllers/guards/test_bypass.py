from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from hmas.controllers.config import BypassConfig
from hmas.controllers.guards.bypass import BypassGuard
from hmas.controllers.views import VShort
from tests.controllers.support import short

CONFIG = BypassConfig()


def drive(
    guard: BypassGuard, from_s: float, to_s: float, *, restrained: bool = True, **signals: object
) -> list[float]:
    """Times at which the guard changed its mind."""
    changes, now_s = [], from_s
    while now_s < to_s:
        if guard.update(short(now_s, **signals), restrained=restrained):
            changes.append(now_s)
        now_s += 0.25
    return changes


def test_stuck_requests_trip_it_within_seconds() -> None:
    guard = BypassGuard(CONFIG, 20)
    assert drive(guard, 0, 20, waiting=7, running=0) == [CONFIG.stuck_after_s]
    assert guard.reason == "7 requests wait and none runs"


def test_extreme_violations_must_last() -> None:
    guard = BypassGuard(CONFIG, 20)
    assert drive(guard, 0, 10, violation_rate=1.0, samples=100) == []
    assert drive(guard, 10, 12, violation_rate=0.5, samples=100) == []
    assert drive(guard, 12, 40, violation_rate=1.0, samples=100) == [27.0]
    assert guard.reason == "violation rate 1.00 of 100"


def test_few_samples_and_an_unrestrained_engine_trip_nothing() -> None:
    assert drive(BypassGuard(CONFIG, 20), 0, 60, violation_rate=1.0, samples=5) == []
    calm = drive(BypassGuard(CONFIG, 20), 0, 60, restrained=False, violation_rate=1.0, samples=99)
    assert calm == []


def test_leaves_after_the_minimum_stay_once_clear() -> None:
    guard = BypassGuard(CONFIG, 20)
    drive(guard, 0, 5.25, waiting=7, running=0)
    assert guard.active
    assert drive(guard, 5.25, 60, violation_rate=0.1, samples=100) == [5 + CONFIG.min_stay_s]
    assert not guard.active


def test_between_the_thresholds_it_stays_until_the_longest_stay() -> None:
    guard = BypassGuard(CONFIG, 20)
    drive(guard, 0, 15.5, violation_rate=1.0, samples=100)
    assert guard.active
    assert drive(guard, 15.5, 200, violation_rate=0.9, samples=100) == [15 + CONFIG.max_stay_s]


def test_without_signals_it_neither_enters_nor_leaves_early() -> None:
    guard = BypassGuard(CONFIG, 20)
    assert drive(guard, 0, 60, running=None, waiting=None) == []
    drive(guard, 60, 66, waiting=7, running=0)
    assert drive(guard, 66, 300, running=None, waiting=None) == [65 + CONFIG.max_stay_s]


def test_a_stay_that_did_not_help_is_not_repeated_soon() -> None:
    guard = BypassGuard(CONFIG, 20)
    changes = drive(guard, 0, 2000, violation_rate=1.0, samples=100, goodput_per_s=0.0)
    entries = changes[::2]
    gaps = [after - before for before, after in itertools.pairwise(entries)]
    assert len(entries) == 3
    assert gaps[0] >= CONFIG.back_off_s
    assert gaps[1] >= 2 * CONFIG.back_off_s


def test_a_meta_controller_may_ask_but_not_flap() -> None:
    guard = BypassGuard(CONFIG, 20)
    assert guard.request("llm: collapse", 0.0)
    assert not guard.request("llm: again", 1.0)
    drive(guard, 1, 40)
    assert not guard.active
    assert not guard.request("llm: collapse", 40.0)
    assert guard.request("llm: collapse", 70.0)


def test_disabled_means_never() -> None:
    guard = BypassGuard(BypassConfig(enabled=False), 20)
    assert drive(guard, 0, 60, waiting=7, running=0) == []
    assert not guard.request("llm: collapse", 61.0)


SIGNALS = st.builds(
    lambda running, waiting, rate, samples: {
        "running": running,
        "waiting": waiting,
        "violation_rate": rate,
        "samples": samples,
    },
    st.one_of(st.none(), st.integers(0, 3)),
    st.one_of(st.none(), st.integers(0, 3)),
    st.one_of(st.none(), st.floats(0, 1)),
    st.integers(0, 100),
)


@given(st.lists(st.tuples(SIGNALS, st.floats(0.1, 20), st.booleans()), max_size=120))
def test_never_flaps_faster_than_its_minimum_stay(
    story: list[tuple[dict[str, object], float, bool]],
) -> None:
    guard, now_s, last_on_s = BypassGuard(CONFIG, 20), 0.0, None
    for signals, seconds, restrained in story:
        now_s += seconds
        view: VShort = short(now_s, **signals)
        if not guard.update(view, restrained=restrained):
            continue
        if guard.active:
            last_on_s = now_s
        else:
            assert last_on_s is not None
            assert now_s - last_on_s >= CONFIG.min_stay_s
