from __future__ import annotations

from hmas.bench.told import RequestTeller
from hmas.bench.workload import WorkloadOptions, build_workload
from hmas.engine.events import Outcome, RequestFinished


def test_latencies_are_predicted_from_what_finished_before() -> None:
    workload = build_workload(WorkloadOptions(rps=5.0, duration_s=10.0))
    teller = RequestTeller(workload.requests)
    told = iter(teller)
    first = next(told)
    assert first.features.predicted_tpot_ms == 0
    for index in range(20):
        teller.observe(
            RequestFinished(
                at_s=float(index),
                features=first.features,
                outcome=Outcome.COMPLETED,
                prompt_tokens=100,
                output_tokens=50,
                ttft_s=0.3,
                tpot_s=0.04,
            )
        )
    later = next(told)
    assert later.features.predicted_tpot_ms == 40
    assert later.features.predicted_ttft_ms == 300
    assert later.output_tokens == workload.requests[1].output_tokens
    assert (
        later.features.predicted_output_tokens
        == workload.requests[1].features.predicted_output_tokens
    )


def test_all_requests_are_told_in_order() -> None:
    workload = build_workload(WorkloadOptions(rps=5.0, duration_s=10.0))
    told = [request.features.request_id for request in RequestTeller(workload.requests)]
    assert told == [request.features.request_id for request in workload.requests]
