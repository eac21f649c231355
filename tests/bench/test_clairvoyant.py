from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hmas.bench.clairvoyant import token_price_ms, upper_bound
from hmas.bench.control import HMAS, STOCK, ControlSpec, parse_control
from hmas.bench.paper.systems import System
from hmas.bench.replay import ReplayConfig, replay
from hmas.bench.slo import annotate
from hmas.bench.traces import TraceRequest
from hmas.bench.workload import Workload
from hmas.engine.simulator.profile import Profile, load_profile
from hmas.engine.topologies import topology_names

A100 = load_profile("a100-qwen3-8b")
H100 = load_profile("h100-qwen3-30b-a3b")

ORDERS = [parse_control(f"static:{name}:512") for name in topology_names()]
CONTROLS = [STOCK, HMAS, *ORDERS]
WIDE = System("wide", "wide", "", parse_control("static:fcfs:16384"))

REQUESTS = st.lists(
    st.builds(
        TraceRequest,
        st.floats(0, 20),
        st.integers(1, 12_000),
        st.integers(1, 900),
    ),
    min_size=1,
    max_size=60,
).map(lambda requests: sorted(requests, key=lambda request: request.arrival_s))


def workload(requests: list[TraceRequest], seed: int = 0) -> Workload:
    known = [request.output_tokens for request in requests]
    return Workload(tuple(annotate(requests, known, seed)), "drawn", "true", 0.0, 20.0)


@settings(max_examples=40, deadline=None)
@given(
    requests=REQUESTS,
    seed=st.integers(0, 100),
    control=st.sampled_from(CONTROLS),
    profile=st.sampled_from([A100, H100]),
)
def test_no_system_is_above_the_bound(
    requests: list[TraceRequest], seed: int, control: ControlSpec, profile: Profile
) -> None:
    drawn = workload(requests, seed)
    bound = upper_bound(drawn.requests, profile)
    report = replay(drawn, ReplayConfig(profile=profile, control=control))
    assert sum(result.slo_ok for result in report.results) <= bound.requests <= bound.total


@settings(max_examples=6, deadline=None)
@given(burst=st.integers(20, 400), prompt=st.integers(500, 4000), seed=st.integers(0, 50))
def test_nor_in_a_burst_that_nobody_can_serve(burst: int, prompt: int, seed: int) -> None:
    drawn = workload([TraceRequest(0.0, prompt, 1 + at % 30) for at in range(burst)], seed)
    bound = upper_bound(drawn.requests, A100)
    configs = [ReplayConfig(control=control) for control in CONTROLS]
    for config in (*configs, WIDE.replay_config("a100-qwen3-8b")):
        report = replay(drawn, config)
        assert sum(result.slo_ok for result in report.results) <= bound.requests


def test_an_idle_engine_meets_everything_and_the_bound_says_so() -> None:
    drawn = workload([TraceRequest(float(at), 500, 20) for at in range(10)])
    assert upper_bound(drawn.requests, A100).goodput_rate == 1.0


def test_a_flood_is_bounded_by_the_engine_time_of_its_windows() -> None:
    flood = workload([TraceRequest(0.0, 2000, 1) for _ in range(1000)])
    bound = upper_bound(flood.requests, A100)
    slowest_s = max(request.features.slo_ttft_ms for request in flood.requests) / 1000
    most = slowest_s * 1000 / (2000 * token_price_ms(A100, 1.0, 16_384))
    assert bound.requests <= most * 1.05 < 300


def test_a_request_that_can_never_meet_its_targets_does_not_count() -> None:
    hopeless = TraceRequest(0.0, 39_000, 400)
    slow = msgspec.structs.replace(
        A100, step_model=msgspec.structs.replace(A100.step_model, base_ms=500.0)
    )
    assert upper_bound(workload([hopeless]).requests, slow).requests == 0
    assert upper_bound(workload([TraceRequest(0.0, 10**7, 5)]).requests, A100).requests == 0


def test_nothing_has_a_bound_of_nothing() -> None:
    assert upper_bound([], A100).goodput_rate == 0.0


def test_the_price_of_a_token_is_that_of_the_best_chunk() -> None:
    model = A100.step_model
    best = min(
        (model.base_ms + model.prefill_ms * n + model.prefill_quadratic_ms * n * n) / n
        for n in range(1, 4000)
    )
    assert token_price_ms(A100, 1.0, 16_384) == pytest.approx(best, rel=1e-4)
    assert token_price_ms(H100, 1.0, 1000) > token_price_ms(H100, 1.0, 16_384)


def test_predicted_lengths_do_not_change_the_bound() -> None:
    trace = [TraceRequest(at / 50, 1500, 40) for at in range(200)]
    exact = annotate(trace, [40] * 200, 0)
    guessed = annotate(trace, [7] * 200, 0)
    assert upper_bound(exact, A100) == upper_bound(guessed, A100)
