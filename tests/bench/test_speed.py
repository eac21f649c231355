from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.bench.live import LiveReport
from hmas.bench.metrics import RequestResult
from hmas.bench.speed import compressed, stretched
from hmas.bench.workload import WorkloadOptions, build_workload


def test_everything_that_has_a_unit_of_time_is_compressed() -> None:
    requests = build_workload(WorkloadOptions(rps=2.0, duration_s=10.0)).requests
    for before, after in zip(requests, compressed(requests, 4.0), strict=True):
        assert after.features.arrival_s == pytest.approx(before.features.arrival_s / 4)
        assert after.features.slo_ttft_ms == before.features.slo_ttft_ms / 4
        assert after.features.slo_tpot_ms == before.features.slo_tpot_ms / 4
        assert after.output_tokens == before.output_tokens


@given(st.floats(0.1, 20), st.floats(0.001, 10), st.floats(0.001, 0.2))
def test_compliance_does_not_depend_on_the_unit(speed: float, ttft_s: float, tpot_s: float) -> None:
    result = RequestResult(1.0, 10, 20, 4000.1, 70.3, ttft_s, tpot_s, ttft_s + 19 * tpot_s)
    seen = stretched(LiveReport((result,), 10.0, {}, 0.0), speed)
    assert seen.duration_s == pytest.approx(10.0 * speed)
    assert seen.results[0].ttft_s == pytest.approx(ttft_s * speed)
    assert seen.results[0].service_gain == pytest.approx(result.service_gain)


@pytest.mark.parametrize("speed", [0.0, -1.0, float("nan"), float("inf")])
def test_a_speed_that_cannot_be_is_named(speed: float) -> None:
    with pytest.raises(ValueError, match="speed must be a positive number"):
        compressed([], speed)
