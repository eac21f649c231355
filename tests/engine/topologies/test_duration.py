from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hmas.engine.topologies import make_topology
from tests.engine.support import names, queued


@given(st.lists(st.integers(1, 2000), max_size=15))
def test_shortest_predicted_service_first(lengths: list[int]) -> None:
    topology = make_topology("sjf")
    for index, tokens in enumerate(lengths):
        topology.add(queued(f"r{index}", predicted_output_tokens=tokens, predicted_tpot_ms=10), 0.0)
    served = [topology.pop(0.0).features.service_time_s for _ in lengths]
    assert served == sorted(served)


@given(st.lists(st.tuples(st.integers(0, 8000), st.integers(1, 2000)), max_size=15))
def test_least_work_first(lengths: list[tuple[int, int]]) -> None:
    topology = make_topology("sjf", {"by_work": 1})
    for index, (prompt, output) in enumerate(lengths):
        topology.add(queued(f"r{index}", prompt_tokens=prompt, predicted_output_tokens=output), 0.0)
    served = [topology.pop(0.0).features for _ in lengths]
    work = [f.prompt_tokens + 2 * f.predicted_output_tokens for f in served]
    assert work == sorted(work)


def test_shortest_rest_first() -> None:
    topology = make_topology("srtf", {"by_work": 0})
    fields = {"predicted_tpot_ms": 10, "slo_ttft_ms": 1e6}
    nearly_done = queued("nearly done", predicted_output_tokens=1000, **fields)
    nearly_done.produced = 990
    topology.add(queued("fresh", predicted_output_tokens=100, **fields), 0.0)
    topology.add(nearly_done, 0.0)
    assert names(topology.ordered(0.0)) == ["nearly done", "fresh"]


waits = st.lists(st.tuples(st.floats(0, 100), st.integers(1, 60_000)), min_size=1, max_size=20)


@given(waits)
def test_nobody_is_passed_whose_response_ratio_is_a_tenth_higher(
    pairs: list[tuple[float, int]],
) -> None:
    topology = make_topology("hrrn", {"aging_every": 1000})
    for index, (arrival_s, service_ms) in enumerate(pairs):
        fields = {"arrival_s": arrival_s, "predicted_ttft_ms": service_ms, "slo_ttft_ms": 1e9}
        topology.add(queued(f"r{index}", **fields), 100.0)
    left = [(100 - arrival_s) / (service_ms / 1000) for arrival_s, service_ms in pairs]
    for _ in pairs:
        features = topology.pop(100.0).features
        ratio = (100 - features.arrival_s) / features.service_time_s
        assert ratio >= max(left) / 1.0906
        left.remove(min(left, key=lambda other: abs(other - ratio)))


def test_long_requests_gain_on_short_ones_by_waiting() -> None:
    topology = make_topology("hrrn")
    topology.add(queued("long", predicted_ttft_ms=10_000, slo_ttft_ms=1e9), 0.0)
    topology.add(queued("short", arrival_s=50.0, predicted_ttft_ms=1000, slo_ttft_ms=1e9), 50.0)
    assert names(topology.ordered(51.0)) == ["long", "short"]
    assert names(topology.ordered(60.0)) == ["short", "long"]
