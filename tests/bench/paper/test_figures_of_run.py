from __future__ import annotations

import numpy as np
import pytest

from hmas.bench.metrics import RequestResult
from hmas.bench.paper.figures_of_run import esg_windows, mismatch, variation


def result(arrival_s: float, *, e2e_s: float = 1.0, tokens: int = 100) -> RequestResult:
    return RequestResult(
        arrival_s=arrival_s,
        prompt_tokens=tokens,
        output_tokens=tokens,
        slo_ttft_ms=1000,
        slo_tpot_ms=100,
        ttft_s=e2e_s / 2,
        tpot_s=e2e_s / 2 / (tokens - 1),
        e2e_s=e2e_s,
    )


def test_an_engine_that_keeps_up_has_no_mismatch() -> None:
    steady = [result(float(at)) for at in range(60)]
    assert mismatch(steady, 60.0).max() < 0.15


def test_a_backlog_is_a_mismatch() -> None:
    late = [result(float(at), e2e_s=float(at) + 2.0) for at in range(60)]
    gaps = mismatch(late, 60.0)
    assert gaps.mean() == pytest.approx(1.0, rel=0.4)


def test_a_request_that_never_ends_is_demand_without_service() -> None:
    lost = RequestResult(5.0, 1000, 0, 1000, 100, finished=False)
    assert mismatch([lost], 10.0)[0] == pytest.approx(1000 / 10 - 1)


def test_gains_count_where_a_request_ends() -> None:
    rates = esg_windows([result(9.5), result(12.0)], 20.0)
    assert rates.tolist() == [0.0, pytest.approx(2 * 300 / 10)]


def test_variation_of_nothing_is_zero() -> None:
    assert variation(np.asarray([])) == 0.0
    assert variation(np.asarray([1.0, 3.0])) == 0.5
