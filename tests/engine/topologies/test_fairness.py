from __future__ import annotations

import pytest

from hmas.engine.topologies import make_topology
from hmas.engine.topologies.fairness import token_cost
from tests.engine.support import queued


def served_tokens(weights: dict[str, float], admissions: int) -> dict[str, float]:
    topology = make_topology("wfq", {"aging_every": 1000})
    for index in range(400):
        for tenant, weight in weights.items():
            topology.add(queued(f"{tenant}{index}", tenant=tenant, tenant_weight=weight), 0.0)
    served = dict.fromkeys(weights, 0.0)
    for _ in range(admissions):
        request = topology.pop(0.0)
        served[request.features.tenant] += token_cost(request)
    return served


def test_tenants_share_by_weight() -> None:
    served = served_tokens({"small": 1.0, "large": 3.0}, 400)
    assert served["large"] / served["small"] == pytest.approx(3.0, rel=0.05)


def test_a_flood_does_not_hold_back_a_newcomer() -> None:
    topology = make_topology("wfq", {"aging_every": 1000})
    for index in range(500):
        topology.add(queued(f"flood{index}", tenant="flood"), 0.0)
    for _ in range(100):
        topology.pop(0.0)
    topology.add(queued("newcomer", tenant="quiet"), 0.0)
    ahead = 0
    while topology.pop(0.0).features.tenant == "flood":
        ahead += 1
    assert ahead <= 2


def test_an_idle_tenant_earns_no_credit() -> None:
    topology = make_topology("wfq", {"aging_every": 1000})
    for index in range(200):
        topology.add(queued(f"busy{index}", tenant="busy"), 0.0)
    for _ in range(150):
        topology.pop(0.0)
    for index in range(50):
        topology.add(queued(f"idle{index}", tenant="idle"), 0.0)
    first = [topology.pop(0.0).features.tenant for _ in range(20)]
    assert 8 <= first.count("busy") <= 12


def test_output_tokens_cost_twice_an_input_token() -> None:
    assert token_cost(queued(prompt_tokens=100, predicted_output_tokens=30)) == 160
