"""How evenly tenants are served, measured against what each was entitled to."""

from __future__ import annotations

from collections.abc import Mapping


def max_min_shares(
    demand: Mapping[str, float], weight: Mapping[str, float], capacity: float
) -> dict[str, float]:
    """Weighted max-min fair split of ``capacity``: nobody gets more than it asked for."""
    shares: dict[str, float] = {}
    left, open_tenants = capacity, sorted(demand, key=lambda t: demand[t] / weight[t])
    open_weight = sum(weight[tenant] for tenant in open_tenants)
    for tenant in open_tenants:
        fair = left * weight[tenant] / open_weight
        shares[tenant] = min(demand[tenant], fair)
        left -= shares[tenant]
        open_weight = max(open_weight - weight[tenant], 1e-12)
    return shares


def jain_index(values: list[float]) -> float:
    """``(sum x)^2 / (n sum x^2)``: 1 when all are equal, 1/n when one has everything."""
    largest = max(values, default=0.0)
    if largest <= 0:
        return 1.0
    parts = [value / largest for value in values]  # no square of them can vanish
    return sum(parts) ** 2 / (len(parts) * sum(part * part for part in parts))


def service_fairness(
    served: Mapping[str, float], demand: Mapping[str, float], weight: Mapping[str, float]
) -> float | None:
    """Jain index of service received over weighted max-min entitlement, per tenant.

    Unequal demand is not unfair: a tenant that got all it asked for counts as 1. None with
    fewer than two tenants in demand, or when nothing was served.
    """
    asked = {t: max(d, served.get(t, 0.0)) for t, d in demand.items()}
    asked = {tenant: tokens for tenant, tokens in asked.items() if tokens > 0}
    capacity = sum(served.get(tenant, 0.0) for tenant in asked)
    if len(asked) < 2 or capacity <= 0:
        return None
    shares = max_min_shares(asked, weight, capacity)
    return jain_index([served.get(t, 0.0) / share for t, share in shares.items() if share > 0])
