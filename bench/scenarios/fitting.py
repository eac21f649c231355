"""Fits ``scenario_statistics.json``: ``python -m hmas.bench.scenarios.fitting DATA_FOLDER``.

Quantiles of the ShareGPT lengths, and of the largest clients of ServeGen's ``m-large`` model:
their share of the traffic, burstiness, rate over a weekday, prompt and output lengths. Reads
Parquet, so it needs pyarrow (part of the console's requirements); the benchmarks do not.
"""

from __future__ import annotations

import csv
import importlib
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

PERCENTS = (0, 1, 2, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50)
UPPER_PERCENTS = (55, 60, 65, 70, 75, 80, 85, 90, 95, 97.5, 99, 100)
DAY_S = 86_400
SLOTS_PER_DAY = 48
MODEL = "m-large"
TENANTS = 12


def table(values: Sequence[float]) -> list[list[float]]:
    """Pairs (percent, tokens), at least one token."""
    wanted = PERCENTS + UPPER_PERCENTS
    tokens = np.percentile(np.asarray(values, dtype=float), wanted)
    return [[p, max(1.0, round(float(t), 1))] for p, t in zip(wanted, tokens, strict=True)]


def sharegpt(path: Path) -> dict[str, object]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {
        "source": "ShareGPT lengths (sharegpt_val_10k_llama2.csv, Microsoft Corporation)",
        "licence": "MIT",
        "prompt_tokens": table([float(row["num_prefill_tokens"]) for row in rows]),
        "output_tokens": table([float(row["num_decode_tokens"]) for row in rows]),
    }


def servegen(folder: Path) -> dict[str, object]:
    arrivals = _rows(folder / "client_arrivals.parquet")
    lengths = _rows(folder / "client_length_quantiles.parquet")
    by_client: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in arrivals:
        by_client[row["client"]].append(row)
    totals = {client: sum(row["rate"] for row in rows) for client, rows in by_client.items()}
    largest = sorted(totals, key=lambda client: -totals[client])
    tenants = [_tenant(client, by_client[client], lengths) for client in largest]
    kept = [tenant for tenant in tenants if tenant is not None][:TENANTS]
    return {
        "source": f"alibaba/ServeGen, category language, model {MODEL}, {TENANTS} largest clients",
        "licence": "Apache-2.0",
        "tenants": kept,
    }


def _rows(path: Path) -> list[dict[str, Any]]:
    parquet = importlib.import_module("pyarrow.parquet")
    rows: list[dict[str, Any]] = parquet.read_table(path).to_pylist()
    return [row for row in rows if row["model"] == MODEL]


def _tenant(
    client: int, rows: Iterable[dict[str, Any]], lengths: Sequence[dict[str, Any]]
) -> dict[str, object] | None:
    """None for a client without published lengths."""
    rows = list(rows)
    prompts, outputs = (
        [row["q101"] for row in lengths if row["client"] == client and row["field"] == field]
        for field in ("input_tokens", "output_tokens")
    )
    if not prompts or not outputs:
        return None
    rates = sum(row["rate"] for row in rows) / len({row["ts"] for row in rows})
    return {
        "client": client,
        "mean_rps": round(rates, 4),
        "cv": round(float(np.median([row["cv"] for row in rows])), 3),
        "day_profile": _day_profile(rows),
        "prompt_tokens": table([token for tokens in prompts for token in tokens]),
        "output_tokens": table([token for tokens in outputs for token in tokens]),
    }


def _day_profile(rows: Sequence[dict[str, Any]]) -> list[float]:
    """Mean rate per half hour of the day, as a multiple of the day's mean."""
    slots: list[list[float]] = [[] for _ in range(SLOTS_PER_DAY)]
    for row in rows:
        slots[int(row["ts"] % DAY_S * SLOTS_PER_DAY // DAY_S)].append(row["rate"])
    overall = float(np.mean([row["rate"] for row in rows]))
    return [round(float(np.mean(slot)) / overall, 3) if slot else 0.0 for slot in slots]


def fit(folder: Path) -> dict[str, object]:
    """The document that ships: source, licence and numbers of both."""
    return {
        "fitted_by": "python -m hmas.bench.scenarios.fitting",
        "sharegpt": sharegpt(folder / "sharegpt_lengths" / "sharegpt_val_10k_llama2.csv"),
        "servegen": servegen(folder / "servegen"),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(fit(Path(sys.argv[1]))) + "\n")
