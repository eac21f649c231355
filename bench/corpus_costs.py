"""LLM-Pilot for the benchmark: its splits, and its cases (one row per model, GPUs and users)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hmas.controllers.prediction.cost_features import FEATURES
from hmas.controllers.prediction.cost_rows import CostRows

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

TEST_SHARE: Final = 0.2
FOLDS: Final = 5
WATCHED_FIRST: Final = 8
WATCHED_ENDS: Final = 16
CASE_S: Final = 120.0
"""Every case was measured for so long."""

DEFINITIONS: Final[Mapping[str, str]] = {
    "throughput": "output tokens / end-to-end latency, per request, tokens/s",
    "prefill": "ttft_ms as measured, per request",
    "latency per token": "end-to-end latency / output tokens, per request, ms",
    "decode time": "mean time between output tokens, per request with two or more, ms",
    "decode time, whole": "time from first to last token, per request with two or more, ms",
}
CASE_DEFINITIONS: Final[Mapping[str, str]] = {
    "throughput": "output tokens of all requests / 120 s, per case, tokens/s",
    "prefill": "mean ttft_ms, per case",
    "latency per token": "sum of latencies / sum of output tokens, per case, ms",
    "decode time": "sum of decode times / sum of tokens after the first, per case, ms",
}
WATCHED: Final = (
    f"; features also hold the mean TTFT of the last {WATCHED_FIRST} first tokens and the mean "
    f"time per token of the last {WATCHED_ENDS} requests that this engine served before"
)
CASE_FEATURES: Final = tuple(
    at
    for at, name in enumerate(FEATURES)
    if name not in ("prefilling", "in_flight", "in_flight_tokens", "prefilling_tokens")
    and not name.startswith(("backlog", "in_flight"))
)
"""Features whose mean over a case is known before it is run."""


@dataclass(frozen=True, slots=True)
class Table:
    """What a benchmark trains on: rows of ``features``, each of one model-GPU pair."""

    features: NDArray[np.float32]
    targets: Mapping[str, Floats]
    pairs: Places


def by_request(rows: CostRows) -> Table:
    """One row per request, targets as in :data:`DEFINITIONS`."""
    whole = np.where(rows.raw["n_output_tokens"] > 1, rows.raw["decode_sum_ms"], np.nan)
    targets = {
        "throughput": rows.targets["throughput_tokens_s"],
        "prefill": rows.targets["ttft_ms"],
        "latency per token": rows.targets["latency_per_token_ms"],
        "decode time": rows.targets["tpot_ms"],
        "decode time, whole": np.where(whole > 0, whole, np.nan),
    }
    return Table(rows.features, targets, rows.pairs)


def by_case(rows: CostRows) -> Table:
    """One row per case, targets as in :data:`CASE_DEFINITIONS`, request features averaged."""
    count = np.bincount(rows.cases).astype(np.float64)

    def total(values: Floats) -> Floats:
        return np.bincount(rows.cases, weights=values).astype(np.float64)

    tokens, raw = total(rows.raw["n_output_tokens"]), rows.raw
    targets = {
        "throughput": tokens / CASE_S,
        "prefill": total(raw["ttft_ms"]) / count,
        "latency per token": total(raw["latency_ms"]) / tokens,
        "decode time": total(raw["decode_sum_ms"]) / (tokens - count),
    }
    columns = [total(rows.features[:, at].astype(np.float64)) / count for at in CASE_FEATURES]
    first = np.unique(rows.cases, return_index=True)[1]
    return Table(np.column_stack(columns).astype(np.float32), targets, rows.pairs[first])


def by_request_watched(rows: CostRows) -> Table:
    """As :func:`by_request`, with what each engine showed before each request: :func:`recent`."""
    known = by_request(rows)
    shown = np.zeros((len(rows.cases), 2))
    for of_case in np.split(np.arange(len(shown)), np.flatnonzero(np.diff(rows.cases)) + 1):
        shown[of_case] = recent({name: column[of_case] for name, column in rows.raw.items()})
    features = np.column_stack((known.features, shown)).astype(np.float32)
    return Table(features, known.targets, known.pairs)


def recent(case: Mapping[str, Floats]) -> Floats:
    """What was known at the start of each request, in ms; -1 before anything was.

    Mean TTFT of the last first tokens, mean time between tokens of the last that ended.
    """
    start = case["start_timestamp"]
    first = start + case["delay0_ms"] + case["ttft_ms"]
    end = start + case["latency_ms"]
    gaps = np.maximum(case["n_output_tokens"] - 1, 0)
    ttft = _mean_of_last(WATCHED_FIRST, first, case["ttft_ms"], np.ones_like(start), start)
    tpot = _mean_of_last(WATCHED_ENDS, end, case["decode_sum_ms"], gaps, start)
    return np.column_stack((ttft, tpot))


def _mean_of_last(count: int, times: Floats, sums: Floats, weights: Floats, at: Floats) -> Floats:
    """Sums over weights of the ``count`` newest entries whose time is not after ``at``."""
    order = np.argsort(times, kind="stable")
    until = np.searchsorted(times[order], at, "right")
    since = np.maximum(until - count, 0)
    total, weight = (np.concatenate(([0.0], np.cumsum(each[order]))) for each in (sums, weights))
    share = weight[until] - weight[since]
    mean: Floats = np.where(share > 0, (total[until] - total[since]) / np.maximum(share, 1), -1.0)
    return mean


def random_split(count: int, seed: int) -> Iterator[tuple[Places, Places]]:
    """One (train, test): four fifths of the rows and the rest."""
    is_test = np.random.default_rng(seed).random(count) < TEST_SHARE
    yield np.flatnonzero(~is_test), np.flatnonzero(is_test)


def random_folds(count: int, seed: int) -> Iterator[tuple[Places, Places]]:
    """For few rows: each is in the test part once."""
    fold = np.random.default_rng(seed).permutation(count) % FOLDS
    for held in range(FOLDS):
        yield np.flatnonzero(fold != held), np.flatnonzero(fold == held)


def unseen_pairs(pairs: Places, seed: int) -> Iterator[tuple[Places, Places]]:
    """Each model-GPU pair is in the test part once, and then no row of it in training."""
    fold = np.random.default_rng(seed).permutation(int(pairs.max()) + 1) % FOLDS
    for held in range(FOLDS):
        yield np.flatnonzero(fold[pairs] != held), np.flatnonzero(fold[pairs] == held)
