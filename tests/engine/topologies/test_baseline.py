from __future__ import annotations

from hmas.engine.topologies import make_topology
from tests.engine.support import names, queued


def test_served_in_the_order_of_arrival_whatever_their_tags() -> None:
    topology = make_topology("fcfs")
    for index in range(50):
        topology.add(queued(f"r{index}", slo_ttft_ms=50 - index, prompt_tokens=index + 1), 0.0)
    assert names(topology.pop(1000.0) for _ in range(50)) == [f"r{i}" for i in range(50)]
