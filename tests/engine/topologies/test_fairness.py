from __future__ import annotations

import pytest

from hmas.engine.topologies import make_topology
from hmas.engine.topologies.cost import token_cost
from tests.engine.support import names, queued

SHARING = ("wfq", "stride", "lottery", "cfs", "rr")
BY_AGE = {"aging_every": 1000, "by_work": 0}


def served_tokens(
    name: str, weights: dict[str, float], admissions: int, sizes: dict[str, int]
) -> dict[str, float]:
    topology = make_topology(name, BY_AGE)
    for index in range(600):
        for tenant, weight in weights.items():
            fields = {"prompt_tokens": sizes.get(tenant, 100)}
            request = queued(f"{tenant}{index}", tenant=tenant, tenant_weight=weight, **fields)
            topology.add(request, 0.0)
    served = dict.fromkeys(weights, 0.0)
    for _ in range(admissions):
        request = topology.pop(0.0)
        served[request.features.tenant] += token_cost(request)
    return served


@pytest.mark.parametrize("name", SHARING)
def test_tenants_share_tokens_by_weight(name: str) -> None:
    served = served_tokens(name, {"small": 1.0, "large": 3.0}, 700, {})
    within = 0.3 if name == "lottery" else 0.05
    assert served["large"] / served["small"] == pytest.approx(3.0, rel=within)


@pytest.mark.parametrize("name", SHARING)
def test_tokens_are_shared_not_admissions(name: str) -> None:
    served = served_tokens(name, {"long": 1.0, "short": 1.0}, 500, {"long": 4000})
    within = 0.3 if name == "lottery" else 0.05
    assert served["long"] / served["short"] == pytest.approx(1.0, rel=within)


@pytest.mark.parametrize("name", ["wfq", "stride", "cfs", "rr"])
def test_a_flood_does_not_hold_back_a_newcomer(name: str) -> None:
    topology = make_topology(name, BY_AGE)
    for index in range(500):
        topology.add(queued(f"flood{index}", tenant="flood"), 0.0)
    for _ in range(100):
        topology.pop(0.0)
    topology.add(queued("newcomer", tenant="quiet"), 0.0)
    ahead = 0
    while topology.pop(0.0).features.tenant == "flood":
        ahead += 1
    assert ahead <= 3


@pytest.mark.parametrize("name", ["wfq", "stride", "rr"])
def test_an_idle_tenant_earns_no_credit(name: str) -> None:
    topology = make_topology(name, BY_AGE)
    for index in range(200):
        topology.add(queued(f"busy{index}", tenant="busy"), 0.0)
    for _ in range(150):
        topology.pop(0.0)
    for index in range(50):
        topology.add(queued(f"idle{index}", tenant="idle"), 0.0)
    first = [topology.pop(0.0).features.tenant for _ in range(20)]
    assert 8 <= first.count("busy") <= 12


def test_a_tenant_that_wakes_up_has_a_bounded_head_start_in_cfs() -> None:
    topology = make_topology("cfs", {**BY_AGE, "wake_credit": 2000})
    for index in range(100):
        topology.add(queued(f"busy{index}", tenant="busy"), 0.0)
    for _ in range(50):
        topology.pop(0.0)
    for index in range(30):
        topology.add(queued(f"idle{index}", tenant="idle"), 0.0)
    first = [topology.pop(0.0).features.tenant for _ in range(10)]
    each = token_cost(queued())
    assert first[:4] == ["idle"] * 4
    assert first.count("idle") - first.count("busy") <= 2000 / each + 1


def test_cfs_charges_what_came_out_in_the_end() -> None:
    topology = make_topology("cfs", BY_AGE)
    for tenant in ("long", "short"):
        for index in range(20):
            topology.add(queued(f"{tenant}{index}", tenant=tenant), 0.0)
    for _ in range(2):
        request = topology.pop(0.0)
        topology.ended(request, 2000 if request.features.tenant == "long" else 256)
    following = [topology.pop(0.0).features.tenant for _ in range(5)]
    assert following == ["short"] * 5


def test_what_was_never_charged_is_not_corrected() -> None:
    topology = make_topology("cfs", BY_AGE)
    for tenant in ("a", "b"):
        topology.add(queued(tenant, tenant=tenant), 0.0)
    topology.ended(queued("elsewhere", tenant="a"), 100_000)
    assert names(topology.ordered(0.0)) == ["a", "b"]


def test_within_a_tenant_the_least_work_goes_first() -> None:
    topology = make_topology("wfq")
    topology.add(queued("large", prompt_tokens=3000), 0.0)
    topology.add(queued("small", prompt_tokens=10), 0.0)
    assert names(topology.ordered(0.0)) == ["small", "large"]


@pytest.mark.parametrize("name", [*SHARING, "priority", "mlfq"])
def test_late_requests_go_last_where_the_hint_says_so(name: str) -> None:
    for hint, expected in ((0, ["late", "fresh"]), (1, ["fresh", "late"])):
        topology = make_topology(name, {"on_time_first": hint})
        topology.add(queued("late", slo_ttft_ms=1000), 0.0)
        topology.add(queued("fresh", arrival_s=2.0), 2.0)
        assert names(topology.ordered(2.0)) == expected


def test_the_same_seed_draws_the_same_lots() -> None:
    def drawn(seed: int) -> list[str]:
        topology = make_topology("lottery", {"seed": seed})
        for index in range(60):
            topology.add(queued(f"r{index}", tenant=f"t{index % 7}"), 0.0)
        return names(topology.pop(float(n)) for n in range(60))

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_a_winner_stands_until_it_is_served() -> None:
    topology = make_topology("lottery")
    for index in range(50):
        topology.add(queued(f"r{index}", tenant=f"t{index}", slo_ttft_ms=1e9), 0.0)
    winner = topology.peek(0.0)
    assert all(topology.peek(float(now_s)) is winner for now_s in range(1, 50))


def test_idle_tenants_are_forgotten() -> None:
    for name in SHARING:
        topology = make_topology(name)
        for index in range(3000):
            topology.add(queued(f"r{index}", tenant=f"t{index}"), 0.0)
            topology.pop(0.0)
        assert len(topology._tenants.by_name) <= 70, name  # type: ignore[attr-defined]


def test_the_important_go_first_and_equals_by_age() -> None:
    topology = make_topology("priority")
    for name, priority in (("low", -3), ("a", 5), ("none", 0), ("b", 5)):
        topology.add(queued(name, priority=priority), 0.0)
    assert names(topology.ordered(0.0)) == ["a", "b", "none", "low"]


def test_levels_demote_by_cost_and_lift_who_waited() -> None:
    topology = make_topology("mlfq", {"threshold": 1000, "boost_s": 30})
    topology.add(queued("long", prompt_tokens=4000, slo_ttft_ms=1e6), 0.0)
    topology.add(queued("short", arrival_s=1.0, slo_ttft_ms=1e6), 1.0)
    back = queued("back", arrival_s=0.5, slo_ttft_ms=1e6)
    back.produced = 5000
    topology.add(back, 1.0)
    assert names(topology.ordered(2.0)) == ["short", "long", "back"]
    assert names(topology.ordered(30.2)) == ["long", "short", "back"]
