from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.bench.metrics import (
    RequestResult,
    from_event,
    quantile,
    summarize,
    unfinished,
    windows,
)
from hmas.engine.events import Outcome, RequestFinished
from hmas.engine.features import RequestFeatures


def result(
    arrival_s: float = 0.0, ttft_s: float = 1.0, tpot_s: float = 0.05, output_tokens: int = 11
) -> RequestResult:
    return RequestResult(
        arrival_s=arrival_s,
        prompt_tokens=100,
        output_tokens=output_tokens,
        slo_ttft_ms=2000,
        slo_tpot_ms=100,
        ttft_s=ttft_s,
        tpot_s=tpot_s,
        e2e_s=ttft_s + tpot_s * (output_tokens - 1),
    )


LOST = unfinished(
    RequestFeatures(request_id="x", arrival_s=3.0, prompt_tokens=100, slo_ttft_ms=2000)
)


def test_hand_computed_run() -> None:
    results = [
        result(),  # within both
        result(ttft_s=2.0, tpot_s=0.1),  # exactly at both targets: still within
        result(ttft_s=3.0),  # TTFT missed
        result(tpot_s=0.2),  # TPOT missed
        LOST,
    ]
    summary = summarize(results, duration_s=10.0)
    assert (summary.requests, summary.completed) == (5, 4)
    assert summary.goodput_rate == pytest.approx(2 / 5)
    assert summary.ttft_compliance == pytest.approx(3 / 5)
    assert summary.tpot_compliance == pytest.approx(3 / 5)
    assert summary.throughput_rps == pytest.approx(0.4)
    assert summary.goodput_rps == pytest.approx(0.2)
    assert summary.output_tokens_per_s == pytest.approx(4.4)
    assert summary.ttft_ms[50] == pytest.approx(1500)
    # Only the fourth exceeds its end-to-end target: 2 + 11·0.1 = 3.1 s allowed, 3.2 s taken,
    # and the third takes 3.55 s.
    value = 100 + 2 * 11
    expected = value * (2 + 3.1 / 3.55 + 3.1 / 3.2)
    assert summary.esg_per_s == pytest.approx(expected / 10)


def test_a_request_that_never_finished_fails_everywhere() -> None:
    assert not LOST.slo_ok
    assert LOST.service_gain == 0
    assert summarize([LOST], 1.0).goodput_rate == 0


def test_single_tokens_do_not_count_in_tpot_quantiles() -> None:
    summary = summarize([result(output_tokens=1, tpot_s=0.0), result(tpot_s=0.04)], 1.0)
    assert summary.tpot_ms[50] == pytest.approx(40)


def test_an_empty_run_is_all_zero() -> None:
    summary = summarize([], 0.0)
    assert summary.goodput_rate == 0
    assert summary.ttft_ms[95] == 0


def test_from_event_keeps_what_the_engine_measured() -> None:
    features = RequestFeatures(request_id="r", arrival_s=2.0, slo_ttft_ms=500, slo_tpot_ms=50)
    event = RequestFinished(
        at_s=5.0,
        features=features,
        outcome=Outcome.COMPLETED,
        prompt_tokens=7,
        output_tokens=3,
        ttft_s=0.4,
        tpot_s=0.02,
        preemptions=1,
    )
    measured = from_event(event)
    assert measured.e2e_s == 3.0
    assert measured.slo_ok == event.slo_ok
    assert measured.preemptions == 1


@pytest.mark.parametrize("outcome", [Outcome.ABORTED, Outcome.FAILED])
def test_other_outcomes_are_failures(outcome: Outcome) -> None:
    event = RequestFinished(
        at_s=1.0,
        features=RequestFeatures(request_id="r", arrival_s=0.0),
        outcome=outcome,
        prompt_tokens=1,
        output_tokens=1,
        ttft_s=0.1,
        tpot_s=0.0,
    )
    assert not from_event(event).slo_ok


def test_windows_cover_the_run_and_take_requests_by_arrival() -> None:
    slices = windows([result(0.0), result(9.9, ttft_s=9.0), result(10.0)], 10.0, 25.0)
    assert [window.start_s for window in slices] == [0, 10, 20]
    assert [window.requests for window in slices] == [2, 1, 0]
    assert [window.goodput_rate for window in slices] == [0.5, 1.0, 0.0]


def test_window_width_must_be_positive() -> None:
    with pytest.raises(ValueError, match="width"):
        windows([], 0.0, 1.0)


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0, 100))
def test_quantile_lies_between_its_neighbours(values: list[float], percent: float) -> None:
    ordered = sorted(values)
    position = (len(ordered) - 1) * percent / 100
    found = quantile(values, percent)
    assert ordered[math.floor(position)] <= found + 1e-6
    assert found <= ordered[min(math.ceil(position), len(ordered) - 1)] + 1e-6


@given(
    st.lists(
        st.builds(
            result,
            arrival_s=st.floats(0, 100),
            ttft_s=st.floats(0, 10),
            tpot_s=st.floats(0, 1),
            output_tokens=st.integers(1, 500),
        ),
        max_size=40,
    )
)
def test_shares_are_consistent(results: list[RequestResult]) -> None:
    summary = summarize(results, 100.0)
    assert summary.goodput_rate <= min(summary.ttft_compliance, summary.tpot_compliance)
    assert summary.esg_per_s <= sum(100 + 2 * r.output_tokens for r in results) / 100 + 1e-9
    assert sum(window.requests for window in windows(results, 7.0, 100.0)) == len(results)
