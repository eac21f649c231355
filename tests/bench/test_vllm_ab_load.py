import statistics

import pytest

from hmas.bench.live import LiveReport
from hmas.bench.metrics import RequestResult
from hmas.bench.vllm_ab_load import (
    LENGTH_SCALE,
    LONGEST_PROMPT,
    TPOT_SLACK,
    TTFT_SLACK,
    Unloaded,
    arriving,
    azure_scaled,
    capacity_rps,
    slo_scale,
    unloaded,
    with_slos,
)


def result(arrival_s=0.0, ttft_s=0.1, tpot_s=0.01, tokens=11, finished=True):
    e2e_s = ttft_s + tpot_s * (tokens - 1)
    return RequestResult(arrival_s, 100, tokens, 1e3, 1e3, ttft_s, tpot_s, e2e_s, 0, finished)


def test_the_rate_is_kept_and_lengths_fit_the_small_engine():
    requests = azure_scaled(8.0, 30.0, seed=1)
    assert len(requests) == pytest.approx(240, abs=2)
    assert (
        max(request.features.prompt_tokens for request in requests)
        <= LONGEST_PROMPT // LENGTH_SCALE
    )
    assert requests == azure_scaled(8.0, 30.0, seed=1)


def test_median_slos_are_multiples_of_the_unloaded_times():
    requests = azure_scaled(8.0, 30.0, seed=2)
    scaled = with_slos(requests, slo_scale(requests, Unloaded(ttft_ms=50.0, tpot_ms=9.0)))
    ttft = statistics.median(request.features.slo_ttft_ms for request in scaled)
    tpot = statistics.median(request.features.slo_tpot_ms for request in scaled)
    assert ttft == pytest.approx(TTFT_SLACK * 50)
    assert tpot == pytest.approx(TPOT_SLACK * 9)


def test_the_same_requests_can_come_one_by_one():
    sparse = arriving(azure_scaled(8.0, 5.0, seed=3), 2.0)
    assert [request.features.arrival_s for request in sparse[:3]] == [0.0, 2.0, 4.0]


def test_unloaded_times_are_medians_of_what_was_served():
    report = LiveReport((result(), result(ttft_s=0.3), result(finished=False)), 1.0, {}, 0.0)
    assert unloaded(report) == Unloaded(pytest.approx(200.0), pytest.approx(10.0))
    with pytest.raises(ValueError, match="served nothing"):
        unloaded(LiveReport((result(finished=False),), 1.0, {"HTTP 500": 1}, 0.0))


def test_capacity_is_the_rate_of_completions():
    ended = [result(ttft_s=0.5 * n, tpot_s=0.0) for n in range(1, 41)]
    assert capacity_rps(ended) == pytest.approx(2.0)
    with pytest.raises(ValueError, match="do not tell"):
        capacity_rps(ended[:1])
