from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.bench.arrivals import mix, period_s, window
from hmas.bench.traces import TraceRequest


def trace(*arrivals_s: float, source: str = "a") -> list[TraceRequest]:
    return [TraceRequest(arrival_s, 10, 5, source) for arrival_s in arrivals_s]


def times(requests: list[TraceRequest]) -> list[float]:
    return [request.arrival_s for request in requests]


def test_mix_merges_by_time() -> None:
    mixed = mix([trace(0, 2, 4, source="a"), trace(0, 1, 5, source="b")])
    assert [(r.arrival_s, r.source) for r in mixed] == [
        (0, "a"),
        (0, "b"),
        (1, "b"),
        (2, "a"),
        (4, "a"),
        (5, "b"),
    ]


def test_rate_scales_time_by_one_factor() -> None:
    assert times(window(trace(0, 1, 3, 4, 100), rps=2.0, duration_s=2.0)) == pytest.approx(
        [0, 2 / 100, 6 / 100, 8 / 100]
    )


def test_duration_alone_keeps_the_pace_and_loops() -> None:
    looped = window(trace(0, 1, 2), rps=None, duration_s=7.0)
    assert times(looped) == [0, 1, 2, 3, 4, 5, 6]


def test_without_rate_and_duration_the_trace_runs_once() -> None:
    assert window(trace(0, 1, 2), None, None) == trace(0, 1, 2)


def test_rate_alone_runs_the_whole_trace_once() -> None:
    scaled = window(trace(0, 1, 2, 3), rps=2.0, duration_s=None)
    assert times(scaled) == [0, 0.5, 1.0, 1.5]


def test_a_single_request_has_a_period() -> None:
    assert period_s(trace(0)) == 1.0


@pytest.mark.parametrize(
    ("rps", "duration_s", "message"),
    [(0.0, 1.0, "rps"), (float("nan"), 1.0, "rps"), (1.0, -1.0, "duration")],
)
def test_bad_numbers_are_named(rps: float, duration_s: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        window(trace(0, 1), rps, duration_s)


def test_nothing_to_replay() -> None:
    with pytest.raises(ValueError, match="empty"):
        window([], 1.0, 1.0)


@given(
    gaps=st.lists(st.floats(0.001, 50), min_size=1, max_size=30),
    rps=st.floats(0.1, 50),
    duration_s=st.floats(1, 60),
)
def test_window_has_the_wanted_rate_and_span(
    gaps: list[float], rps: float, duration_s: float
) -> None:
    arrivals = [0.0]
    for gap in gaps:
        arrivals.append(arrivals[-1] + gap)
    taken = window(trace(*arrivals), rps, duration_s)
    assert len(taken) == max(1, round(rps * duration_s))
    assert times(taken) == sorted(times(taken))
    assert taken[0].arrival_s == 0
    assert taken[-1].arrival_s < duration_s
