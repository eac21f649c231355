from __future__ import annotations

from hmas.engine.events import Outcome, RequestFinished
from hmas.engine.features import RequestFeatures


def test_a_met_slo_needs_both_targets_and_completion() -> None:
    features = RequestFeatures(request_id="r", arrival_s=0, slo_ttft_ms=100, slo_tpot_ms=10)

    def finished(ttft_s: float, tpot_s: float, outcome: Outcome) -> RequestFinished:
        return RequestFinished(
            at_s=1,
            features=features,
            outcome=outcome,
            prompt_tokens=1,
            output_tokens=2,
            ttft_s=ttft_s,
            tpot_s=tpot_s,
        )

    assert finished(0.1, 0.01, Outcome.COMPLETED).slo_ok
    assert not finished(0.11, 0.01, Outcome.COMPLETED).slo_ok
    assert not finished(0.1, 0.011, Outcome.COMPLETED).slo_ok
    assert not finished(0.1, 0.01, Outcome.ABORTED).slo_ok
