"""Fits the numbers of the workload generator: ``python -m hmas.bench.fit_azure DATA_FOLDER``.

Reads the statistics of the Azure LLM inference trace 2024 (token quantiles calibrated on
published percentiles, arrival rates digitised from published plots) and prints the JSON that
ships as ``azure_2024.json``.
"""

from __future__ import annotations

import csv
import json
import sys
from bisect import bisect_left
from datetime import datetime
from pathlib import Path

QUANTILES_PCT = (0.5, 1, 2, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50)
UPPER_QUANTILES_PCT = (55, 60, 65, 70, 75, 80, 85, 90, 95, 97.5, 99, 99.5, 100)
SLOTS_PER_DAY = 48
SERVICES = ("conv", "code")


def quantile_table(rows: list[dict[str, str]], service: str, field: str) -> list[list[float]]:
    """Pairs (percent, tokens) at the percentages above."""
    points = [
        (float(row["q_pct"]), float(row["tokens"]))
        for row in rows
        if row["service"] == service and row["field"] == field
    ]
    percents = [percent for percent, _ in points]
    wanted = QUANTILES_PCT + UPPER_QUANTILES_PCT
    return [
        [percent, points[min(bisect_left(percents, percent), len(points) - 1)][1]]
        for percent in wanted
    ]


def day_profile(rows: list[dict[str, str]]) -> list[float]:
    """Rate of a weekday per half hour, as a multiple of its mean."""
    slots: list[list[float]] = [[] for _ in range(SLOTS_PER_DAY)]
    for row in rows:
        moment = datetime.fromisoformat(row["time"][:26])
        if moment.weekday() < 5:
            slots[moment.hour * 2 + moment.minute // 30].append(float(row["rps"]))
    means = [sum(slot) / len(slot) for slot in slots]
    overall = sum(means) / len(means)
    return [round(mean / overall, 3) for mean in means]


def read_rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def fit(folder: Path) -> dict[str, object]:
    """The document that ships: source, licence, and per service its numbers."""
    published = json.loads((folder / "azure2024_reference_stats.json").read_text())
    tokens = read_rows(folder / "azure2024_token_quantiles_calibrated.csv")
    return {
        "source": "Azure LLM inference trace 2024 (DynamoLLM, HPCA 2025), published statistics "
        "and digitised plots; https://github.com/Azure/AzurePublicDataset",
        "licence": "CC-BY-4.0",
        "fitted_by": "python -m hmas.bench.fit_azure",
        "arrival_shape": 0.19,
        "services": {
            service: {
                "mean_rps": published[service]["mean_rps"],
                "prompt_tokens": quantile_table(tokens, service, "context"),
                "output_tokens": quantile_table(tokens, service, "generated"),
                "day_profile": day_profile(
                    read_rows(folder / f"azure2024_{service}_rps_digitised.csv")
                ),
            }
            for service in SERVICES
        },
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(fit(Path(sys.argv[1]))) + "\n")
