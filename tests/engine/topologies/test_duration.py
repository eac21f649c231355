from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hmas.engine.topologies import make_topology
from tests.engine.support import queued


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
