from __future__ import annotations

from hmas.bench.told import RequestTeller, StatisticsTeller
from hmas.bench.workload import WorkloadOptions, build_workload
from hmas.controllers.perception.slo import NEUTRAL_IMPORTANCE, UNKNOWN_SLO, slo_targets
from hmas.controllers.prediction.history import DEFAULT_OUTPUT_TOKENS
from hmas.engine.events import Outcome, RequestFinished
from hmas.engine.features import TaskType


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


def test_without_tags_only_statistics_are_told() -> None:
    workload = build_workload(WorkloadOptions(rps=5.0, duration_s=10.0))
    told = [request.features for request in StatisticsTeller(workload.requests)]
    assert not any(features.known for features in told)
    assert {features.task_type for features in told} == {TaskType.UNKNOWN}
    assert {features.predicted_output_tokens for features in told} == {DEFAULT_OUTPUT_TOKENS}
    assert len({features.slo_ttft_ms for features in told}) == 1


def test_statistics_follow_what_finishes() -> None:
    workload = build_workload(WorkloadOptions(rps=5.0, duration_s=10.0))
    teller = StatisticsTeller(workload.requests)
    told = iter(teller)
    first = next(told).features
    before = first.slo_ttft_ms
    for index in range(20):
        teller.observe(
            RequestFinished(
                at_s=float(index),
                features=first,
                outcome=Outcome.COMPLETED,
                prompt_tokens=100,
                output_tokens=50,
                ttft_s=0.3,
                tpot_s=0.04,
            )
        )
    later = next(told).features
    assert later.predicted_output_tokens == 50
    task = workload.requests[0].features.task_type
    assert later.slo_ttft_ms == slo_targets(task, NEUTRAL_IMPORTANCE).ttft_ms
    assert before == UNKNOWN_SLO.ttft_ms
