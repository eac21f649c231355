from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.controllers.config import RollbackConfig
from hmas.controllers.guards.rollback import Judgement, RollbackGuard, Verdict
from hmas.controllers.views import VShort
from tests.controllers.support import short

CONFIG = RollbackConfig()
SETTLE_S = 10.0


def good(at_s: float = 0.0, **changes: object) -> VShort:
    fields = {
        "violation_rate": 0.2,
        "ttft_p99_ms": 1000.0,
        "goodput_per_s": 8.0,
        "samples": 100,
    } | changes
    return short(at_s, **fields)


def judge(before: VShort | None, **after: object) -> list[tuple[float, Judgement]]:
    guard = RollbackGuard(CONFIG, SETTLE_S)
    guard.watch("edf", before, 0.0)
    found, now_s = [], 0.0
    while now_s < 200 and guard.open:
        now_s += 0.25
        judgement = guard.check(good(now_s, **after))
        if judgement is not None:
            found.append((now_s, judgement))
    return found


def test_the_same_figures_pass_when_the_window_ends() -> None:
    ((at_s, judgement),) = judge(good())
    assert (at_s, judgement.verdict, judgement.final) == (CONFIG.window_s, Verdict.PASS, True)
    assert judgement.evidence["violation_rate_before"] == 0.2


def test_more_violations_fail_as_soon_as_they_are_confirmed() -> None:
    ((at_s, judgement),) = judge(good(), violation_rate=0.5, goodput_per_s=5.0)
    assert judgement.verdict is Verdict.FAIL
    assert at_s == SETTLE_S + CONFIG.confirm_s
    assert judgement.reason == "violation rate 0.50 after 0.20, over 1.5 times"


def test_a_longer_tail_fails_with_any_rise_of_violations() -> None:
    ((_, failed),) = judge(good(), ttft_p99_ms=1600.0, violation_rate=0.22, goodput_per_s=7.0)
    assert failed.verdict is Verdict.FAIL
    assert "TTFT p99 1600 ms after 1000" in failed.reason
    ((_, passed),) = judge(good(), ttft_p99_ms=1600.0, violation_rate=0.1, goodput_per_s=7.0)
    assert passed.verdict is Verdict.PASS


def test_more_goodput_is_no_failure_whatever_the_rates() -> None:
    ((_, judgement),) = judge(good(), violation_rate=0.6, ttft_p99_ms=9000.0, goodput_per_s=9.0)
    assert judgement.verdict is Verdict.PASS


def test_a_tiny_absolute_rise_is_noise() -> None:
    before = good(violation_rate=0.01)
    ((_, judgement),) = judge(before, violation_rate=0.03, goodput_per_s=7.9)
    assert judgement.verdict is Verdict.PASS


@pytest.mark.parametrize("before", [None, good(samples=3), good(violation_rate=None)])
def test_without_a_baseline_it_is_inconclusive_and_extended_up_to_a_limit(
    before: VShort | None,
) -> None:
    (first_s, first), (last_s, last) = judge(before)
    assert first.verdict is last.verdict is Verdict.INCONCLUSIVE
    assert (first_s, first.final) == (CONFIG.window_s, False)
    assert (last_s, last.final) == (CONFIG.max_window_s, True)


def test_a_silent_engine_is_an_error_neither_good_nor_bad() -> None:
    found = judge(good(), running=None)
    assert [j.verdict for _, j in found] == [Verdict.ERROR, Verdict.ERROR]


def test_an_extended_window_may_still_pass_or_fail() -> None:
    guard = RollbackGuard(CONFIG, SETTLE_S)
    guard.watch("edf", good(), 0.0)
    extended = guard.check(good(30.0, samples=2))
    assert extended is not None
    assert not extended.final
    assert guard.open
    passed = guard.check(good(40.0))
    assert passed is not None
    assert passed.verdict is Verdict.PASS


def test_a_short_spike_is_not_a_failure() -> None:
    guard = RollbackGuard(CONFIG, SETTLE_S)
    guard.watch("edf", good(), 0.0)
    for k in range(40, 160):
        spike = k % 8 < 4
        judgement = guard.check(
            good(k / 4, violation_rate=0.9 if spike else 0.2, goodput_per_s=8.0)
        )
        assert judgement is None or judgement.verdict is Verdict.PASS


def test_a_cancelled_or_disabled_guard_judges_nothing() -> None:
    guard = RollbackGuard(CONFIG, SETTLE_S)
    guard.watch("edf", good(), 0.0)
    guard.cancel()
    assert guard.check(good(100.0, violation_rate=1.0, goodput_per_s=0.0)) is None
    off = RollbackGuard(RollbackConfig(enabled=False), SETTLE_S)
    off.watch("edf", good(), 0.0)
    assert not off.open


@given(
    st.lists(
        st.tuples(
            st.floats(0.05, 30),
            st.one_of(st.none(), st.floats(0, 1)),
            st.one_of(st.none(), st.floats(0, 1e5)),
            st.one_of(st.none(), st.floats(0, 50)),
            st.integers(0, 200),
            st.one_of(st.none(), st.integers(0, 9)),
        ),
        max_size=80,
    )
)
def test_every_window_ends_once_and_never_before_it_could_measure(
    story: list[tuple[float, float | None, float | None, float | None, int, int | None]],
) -> None:
    guard = RollbackGuard(CONFIG, SETTLE_S)
    guard.watch("edf", good(), 0.0)
    now_s, finals = 0.0, 0
    for seconds, rate, tail, goodput, samples, running in story:
        now_s += seconds
        judgement = guard.check(
            good(
                now_s,
                violation_rate=rate,
                ttft_p99_ms=tail,
                goodput_per_s=goodput,
                samples=samples,
                running=running,
            )
        )
        if judgement is not None:
            assert now_s >= SETTLE_S
            finals += judgement.final
            assert guard.open != judgement.final
            if judgement.verdict in {Verdict.PASS, Verdict.FAIL}:
                assert judgement.final
                assert samples >= CONFIG.min_samples
    assert finals <= 1
    assert finals == 1 or guard.open
