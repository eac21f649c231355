from __future__ import annotations

import pytest

from hmas.bench.control import ControlKind
from hmas.bench.paper.jobs import Job, run_all, run_job
from hmas.bench.paper.systems import (
    BUDGETS,
    H_MAS,
    ORACLE,
    STOCK_VLLM,
    ablations,
    main_systems,
    sglang_like,
    static,
    statics,
)
from hmas.engine.simulator.profile import Profile
from hmas.engine.topologies import topology_names


def limits(name: str, profile: str) -> tuple[int, int]:
    used = next(system for system in main_systems() if system.name == name)
    made = used.replay_config(profile).profile
    assert isinstance(made, Profile)
    return made.limits.max_num_batched_tokens, made.limits.max_num_seqs


def test_stock_has_the_defaults_of_vllm_for_the_gpu_class() -> None:
    assert limits("stock", "a100-qwen3-8b") == (2048, 256)
    assert limits("stock", "h100-qwen3-30b-a3b") == (8192, 1024)


def test_every_order_of_the_registry_meets_every_budget() -> None:
    pairs = {(s.control.topology, s.control.token_budget) for s in statics()}
    assert pairs == {(name, budget) for name in topology_names() for budget in BUDGETS}


def test_a_static_budget_is_a_start_up_limit() -> None:
    profile = static("fcfs", 16384).replay_config("a100-qwen3-8b").profile
    assert isinstance(profile, Profile)
    assert profile.limits.max_num_batched_tokens == 16384


def test_systems_have_names_of_their_own() -> None:
    names = [system.name for system in (*main_systems(), *ablations(), *statics())]
    assert len(names) == len(set(names))
    assert all(system.control.kind is ControlKind.STATIC for system in sglang_like())


def test_all_systems_of_a_job_see_the_same_requests() -> None:
    job = Job("stress", 0, (STOCK_VLLM, H_MAS, ORACLE, *ablations()), None, factor=0.03)
    done = run_job(job)
    assert len({run.requests for run in done.runs}) == 1
    assert [run.lost for run in done.runs] == [0] * len(done.runs)
    oracle = next(run for run in done.runs if run.system == "oracle")
    assert oracle.length_error == 0 < done.runs[0].length_error
    assert done.bound is None


@pytest.mark.parametrize("name", ["stress", "scaling-30"])
def test_results_keep_the_order_of_their_jobs(name: str) -> None:
    jobs = [Job(name, seed, (STOCK_VLLM,), None, factor=0.02, bounded=True) for seed in range(3)]
    ticks: list[None] = []
    results = run_all(jobs, lambda: ticks.append(None), workers=2)
    assert [result.runs[0].seed for result in results] == [0, 1, 2]
    assert len(ticks) == 3
    assert all((result.bound or 0) >= result.runs[0].goodput_rate for result in results)
