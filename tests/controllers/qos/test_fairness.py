from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.controllers.qos.fairness import jain_index, max_min_shares, service_fairness

TOKENS = st.floats(1, 1e6)
TENANTS = st.dictionaries(
    st.sampled_from("abcdef"), st.tuples(TOKENS, st.floats(0.1, 10)), min_size=1
)


@given(TENANTS, st.floats(0, 1e6))
def test_max_min_gives_nobody_more_than_asked_and_wastes_nothing(
    tenants: dict[str, tuple[float, float]], capacity: float
) -> None:
    demand = {name: tokens for name, (tokens, _) in tenants.items()}
    weight = {name: weight for name, (_, weight) in tenants.items()}
    shares = max_min_shares(demand, weight, capacity)
    assert all(shares[name] <= demand[name] * (1 + 1e-9) for name in demand)
    assert sum(shares.values()) == pytest.approx(min(capacity, sum(demand.values())), rel=1e-6)


@given(st.lists(st.floats(0, 1e3), min_size=1, max_size=20))
def test_jain_lies_between_one_over_n_and_one(values: list[float]) -> None:
    assert 1 / len(values) - 1e-9 <= jain_index(values) <= 1 + 1e-9


def test_unequal_demand_that_is_met_is_fair() -> None:
    demand = {"big": 1000.0, "small": 10.0}
    assert service_fairness(demand, demand, {"big": 1.0, "small": 1.0}) == pytest.approx(1.0)


def test_a_tenant_that_crowds_out_another_is_unfair() -> None:
    demand = {"big": 1000.0, "small": 1000.0}
    index = service_fairness({"big": 990.0, "small": 10.0}, demand, {"big": 1.0, "small": 1.0})
    assert index is not None
    assert index < 0.6


def test_weights_entitle_to_more() -> None:
    demand = {"gold": 1000.0, "basic": 1000.0}
    index = service_fairness({"gold": 600.0, "basic": 200.0}, demand, {"gold": 3.0, "basic": 1.0})
    assert index == pytest.approx(1.0)


def test_one_tenant_says_nothing_about_fairness() -> None:
    assert service_fairness({"a": 5.0}, {"a": 5.0}, {"a": 1.0}) is None
    assert service_fairness({}, {"a": 5.0, "b": 5.0}, {"a": 1.0, "b": 1.0}) is None
