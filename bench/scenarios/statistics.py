"""Fitted numbers that the workloads need where the data folder does not lie at hand."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec

STATISTICS_FILE = Path(__file__).parent.with_name("scenario_statistics.json")


class LengthTables(msgspec.Struct, frozen=True):
    """Quantiles of prompt and output tokens: pairs (percent, tokens)."""

    source: str
    licence: str
    prompt_tokens: list[tuple[float, float]]
    output_tokens: list[tuple[float, float]]


class TenantStatistics(msgspec.Struct, frozen=True):
    """One production client; ``cv`` is the coefficient of variation of its gaps."""

    client: int
    mean_rps: float
    cv: float
    day_profile: list[float]
    prompt_tokens: list[tuple[float, float]]
    output_tokens: list[tuple[float, float]]


class TenantPool(msgspec.Struct, frozen=True):
    source: str
    licence: str
    tenants: list[TenantStatistics]


class Statistics(msgspec.Struct, frozen=True):
    fitted_by: str
    sharegpt: LengthTables
    servegen: TenantPool


@cache
def statistics() -> Statistics:
    return msgspec.json.decode(STATISTICS_FILE.read_bytes(), type=Statistics)
