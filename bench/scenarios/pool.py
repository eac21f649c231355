"""Where synthetic workloads take their lengths from: ShareGPT chats and coding requests (E.5)."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hmas.bench.generator import fitted, sample_tokens
from hmas.bench.scenarios.base import FALLBACK_NOTE
from hmas.bench.scenarios.statistics import statistics
from hmas.bench.traces import TraceRequest, read_trace

SHAREGPT = Path("sharegpt_lengths/sharegpt_val_10k_llama2.csv")
CODING = Path("azure/AzureLLMInferenceTrace_code.csv")
CHAT, CODE = "sharegpt", "coding"

Pairs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LengthPool:
    """(prompt, output) token pairs of either kind; drawn with replacement."""

    chat: Pairs
    code: Pairs
    source: str

    def draw(self, is_code: NDArray[np.bool_], random: np.random.Generator) -> Pairs:
        """One pair per flag."""
        count = len(is_code)
        chats = self.chat[random.integers(len(self.chat), size=count)]
        codes = self.code[random.integers(len(self.code), size=count)]
        return np.where(is_code[:, None], codes, chats)


def requests_of(
    times: NDArray[np.float64], pairs: Pairs, is_code: NDArray[np.bool_]
) -> list[TraceRequest]:
    return [
        TraceRequest(float(at_s), int(prompt), int(output), CODE if code else CHAT)
        for at_s, (prompt, output), code in zip(times, pairs, is_code, strict=True)
    ]


@cache
def length_pool(data: Path | None) -> LengthPool:
    """Measured pairs, or pairs drawn from fitted quantiles."""
    if data is None or not (data / SHAREGPT).exists() or not (data / CODING).exists():
        return _fitted_pool()
    coding = [(r.prompt_tokens, r.output_tokens) for r in read_trace(data / CODING)]
    with (data / SHAREGPT).open(encoding="utf-8", newline="") as file:
        chats = [
            (int(row["num_prefill_tokens"]), int(row["num_decode_tokens"]))
            for row in csv.DictReader(file)
        ]
    return LengthPool(_pairs(chats), _pairs(coding), "ShareGPT and Azure code lengths")


def _pairs(rows: list[tuple[int, int]]) -> Pairs:
    return np.asarray(rows, dtype=np.int64).clip(min=1)


def _fitted_pool(size: int = 10_000) -> LengthPool:
    random = np.random.default_rng(0)
    chat, code = statistics().sharegpt, fitted().services["code"]
    drawn = [
        np.column_stack(
            [
                sample_tokens(kind.prompt_tokens, size, random),
                sample_tokens(kind.output_tokens, size, random),
            ]
        )
        for kind in (chat, code)
    ]
    return LengthPool(drawn[0], drawn[1], f"ShareGPT and code lengths, {FALLBACK_NOTE}")
