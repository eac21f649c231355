from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hmas.bench.control import HMAS, STOCK, ControlSpec, parse_control
from hmas.bench.lengths import LengthKnowledge
from hmas.bench.replay import ReplayConfig, ReplayProgress, replay, run_replay
from hmas.bench.slo import annotate
from hmas.bench.traces import TraceRequest
from hmas.bench.workload import Workload, WorkloadOptions
from hmas.engine.simulator.profile import load_profile

CONTROLS = (STOCK, HMAS, parse_control("static:edf:512"))


def options(rps: float = 4.0, duration_s: float = 20.0, seed: int = 1) -> WorkloadOptions:
    return WorkloadOptions(rps=rps, duration_s=duration_s, seed=seed)


@pytest.mark.parametrize("control", CONTROLS, ids=str)
def test_same_seed_same_bytes(control: ControlSpec) -> None:
    config = ReplayConfig(workload=options(), control=control, series_s=5.0)
    assert run_replay(config).to_json() == run_replay(config).to_json()


def test_another_seed_is_another_run() -> None:
    first = run_replay(ReplayConfig(workload=options(seed=1)))
    assert first.to_json() != run_replay(ReplayConfig(workload=options(seed=2))).to_json()


@settings(max_examples=15, deadline=None)
@given(
    control=st.sampled_from(CONTROLS),
    rps=st.floats(0.5, 30),
    seed=st.integers(0, 10_000),
    lengths=st.sampled_from(LengthKnowledge),
)
def test_every_request_completes_whatever_the_load(
    control: ControlSpec, rps: float, seed: int, lengths: LengthKnowledge
) -> None:
    workload = WorkloadOptions(rps=rps, duration_s=10.0, seed=seed, lengths=lengths)
    report = run_replay(ReplayConfig(workload=workload, control=control))
    assert report.lost == 0
    assert report.summary.completed == report.summary.requests
    assert all(result.ttft_s > 0 for result in report.results)


def test_an_idle_engine_meets_all_targets_but_for_stock_steps_that_are_too_long() -> None:
    quiet = options(rps=0.3, duration_s=60.0)
    stock = run_replay(ReplayConfig(workload=quiet))
    narrow = run_replay(ReplayConfig(workload=quiet, control=parse_control("static:fcfs:512")))
    assert stock.summary.ttft_compliance == narrow.summary.ttft_compliance == 1.0
    assert stock.summary.tpot_compliance < narrow.summary.goodput_rate == 1.0
    assert stock.counts.swaps == 0


def test_a_fixed_order_and_budget_hold_from_the_first_step() -> None:
    wide = run_replay(ReplayConfig(workload=options(rps=6.0)))
    narrow = run_replay(
        ReplayConfig(workload=options(rps=6.0), control=parse_control("static:fcfs:256"))
    )
    assert narrow.summary.tpot_ms[95] < wide.summary.tpot_ms[95]


def test_a_budget_that_the_engine_refuses_is_named() -> None:
    config = ReplayConfig(workload=options(), control=parse_control("static:edf:999999"))
    with pytest.raises(ValueError, match=r"static:edf:999999: .*token_budget"):
        run_replay(config)


def test_progress_ends_at_all_requests() -> None:
    seen: list[ReplayProgress] = []
    run_replay(ReplayConfig(workload=options()), seen.append)
    assert seen[-1].done == seen[-1].requests == 80
    assert [progress.now_s for progress in seen] == sorted(p.now_s for p in seen)


def test_a_request_that_no_engine_can_serve_fails_but_is_not_lost() -> None:
    requests = [TraceRequest(0.0, 10_000_000, 5), TraceRequest(0.0, 10, 5)]
    workload = Workload(tuple(annotate(requests, [5, 5], 0)), "two", "true", 0.0, 1.0)
    report = replay(workload, ReplayConfig())
    assert (report.lost, report.refused) == (0, 1)
    assert (report.summary.requests, report.summary.completed) == (2, 1)
    assert report.summary.goodput_rate == 0.5


def test_series_covers_the_run() -> None:
    report = run_replay(ReplayConfig(workload=options(), series_s=5.0))
    assert len(report.series) == -(-report.summary.duration_s // 5.0)
    assert sum(window.requests for window in report.series) == 80


def test_results_are_judged_by_the_true_targets_even_when_the_scheduler_knows_none() -> None:
    tagged = run_replay(ReplayConfig(workload=options(), control=HMAS))
    blind = run_replay(ReplayConfig(workload=options(), control=HMAS, tagged=False))
    targets = [[result.slo_ttft_ms for result in run.results] for run in (tagged, blind)]
    assert targets[0] == targets[1]


def test_a_withheld_topology_is_never_chosen() -> None:
    config = ReplayConfig(workload=options(rps=20.0), control=HMAS, withheld=frozenset({"sjf"}))
    used = {switch.topology for switch in run_replay(config).switches}
    assert used
    assert "sjf" not in used


def test_a_profile_may_be_given_itself() -> None:
    named = run_replay(ReplayConfig(workload=options()))
    given_itself = ReplayConfig(workload=options(), profile=load_profile("a100-qwen3-8b"))
    assert run_replay(given_itself).to_json() == named.to_json()
