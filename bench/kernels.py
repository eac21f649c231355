"""Published kernel timings of vLLM, put together to the time of one engine step.

Reads the tables of ai-dynamo/aiconfigurator (Apache-2.0): parquet files of milliseconds per
kernel call, under ``<root>/data/<hardware>/<kernel>/vllm/<version>/``.
"""

from __future__ import annotations

import gzip
import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Rows = dict[str, npt.NDArray[Any]]


class KernelDataError(RuntimeError):
    """The published tables are not there, or cannot be read here."""


@dataclass(frozen=True, slots=True)
class ModelShape:
    """Dimensions of one decoder on one GPU of ``tensor_parallel``; bf16 weights."""

    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    intermediate: int
    vocabulary: int
    parameters: float
    head_dim: int = 128
    experts: int = 0
    experts_per_token: int = 0
    tensor_parallel: int = 1

    @property
    def kv_bytes_per_token(self) -> int:
        """Keys and values, two bytes each, over all layers."""
        return 2 * 2 * self.layers * self.kv_heads * self.head_dim


class StepShape(NamedTuple):
    """What the step model sees of a step; the context is summed over its sequences."""

    prefill_tokens: int
    context_tokens: int
    sequences: int


@dataclass(frozen=True, slots=True)
class Step:
    """One engine step: at most one prefill chunk beside equal decodes."""

    prefill_tokens: int = 0
    prefill_context: int = 0
    decodes: int = 0
    decode_context: int = 0

    @property
    def sequences(self) -> int:
        return self.decodes + (1 if self.prefill_tokens else 0)

    @property
    def tokens(self) -> int:
        return self.prefill_tokens + self.decodes

    @property
    def context_tokens(self) -> int:
        prefill = self.prefill_context + self.prefill_tokens if self.prefill_tokens else 0
        return prefill + self.decodes * self.decode_context

    @property
    def shape(self) -> StepShape:
        return StepShape(self.prefill_tokens, self.context_tokens, self.sequences)


@dataclass(frozen=True, slots=True)
class Curve:
    """A measured kernel over one size, linear between points."""

    sizes: npt.NDArray[np.float64]
    latency_ms: npt.NDArray[np.float64]

    def at(self, size: float) -> float:
        """Milliseconds; beyond the last point in proportion to it."""
        largest = float(self.sizes[-1])
        if size > largest:
            return float(self.latency_ms[-1]) * size / largest
        return float(np.interp(size, self.sizes, self.latency_ms))


class KernelTables:
    """Tables of one GPU and one vLLM version. Raises :class:`KernelDataError`."""

    def __init__(self, root: Path, hardware: str, version: str) -> None:
        self.origin = f"data/{hardware}/*/vllm/{version}"
        self._directory = root / "data" / hardware
        self._version = version
        self._cache: dict[str, Rows] = {}

    def gemm(self, n: int, k: int) -> Curve:
        return self._curve("gemm", "gemm_perf", "m", {"gemm_dtype": "bfloat16", "n": n, "k": k})

    def context_attention(self, heads: int, kv_heads: int) -> Curve:
        """One prompt without earlier context, by its tokens."""
        where = {**_attention(heads, kv_heads), "batch_size": 1}
        return self._curve("attention", "context_attention_perf", "isl", where)

    def generation_attention(self, heads: int, kv_heads: int) -> dict[tuple[int, int], float]:
        """Milliseconds by (sequences, context tokens of each)."""
        rows = self._select("attention", "generation_attention_perf", _attention(heads, kv_heads))
        keys = zip(rows["batch_size"].tolist(), rows["step"].tolist(), strict=True)
        latencies = rows["latency"].tolist()
        return {(n, step + 1): ms for (n, step), ms in zip(keys, latencies, strict=True)}

    def experts(self, shape: ModelShape) -> Curve:
        where = {
            "moe_dtype": "bfloat16", "hidden_size": shape.hidden, "distribution": "power_law_1.2",
            "inter_size": shape.intermediate, "topk": shape.experts_per_token,
            "num_experts": shape.experts, "moe_tp_size": 1, "moe_ep_size": 1,
        }  # fmt: skip
        return self._curve("moe", "moe_perf", "num_tokens", where)

    def all_reduce(self, gpus: int) -> Curve:
        where = {"num_gpus": gpus, "backend": "vllm_graph"}
        return self._curve("comm", "custom_allreduce_perf", "message_size", where)

    def _curve(self, folder: str, table: str, size: str, where: Mapping[str, object]) -> Curve:
        rows = self._select(folder, table, where)
        sizes = np.unique(rows[size])
        latency = [float(np.median(rows["latency"][rows[size] == value])) for value in sizes]
        return Curve(sizes.astype(np.float64), np.array(latency))

    def _select(self, folder: str, table: str, where: Mapping[str, object]) -> Rows:
        rows = self._rows(folder, table)
        mask = np.ones(len(rows["latency"]), dtype=bool)
        for column, value in where.items():
            if column in rows:
                mask &= rows[column] == value
        if not mask.any():
            raise KernelDataError(f"{self.origin}: {table} has no rows for {dict(where)}")
        return {column: values[mask] for column, values in rows.items()}

    def _rows(self, folder: str, table: str) -> Rows:
        if table not in self._cache:
            path = self._directory / folder / "vllm" / self._version / f"{table}.parquet"
            self._cache[table] = _read_parquet(path)
        return self._cache[table]


def _attention(heads: int, kv_heads: int) -> dict[str, object]:
    return {
        "num_heads": heads, "num_key_value_heads": kv_heads, "head_dim": 128,
        "kv_cache_dtype": "bfloat16", "window_size": 0,
    }  # fmt: skip


def _read_parquet(path: Path) -> Rows:
    if not path.is_file():
        raise KernelDataError(f"{path} is missing: see --data")
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise KernelDataError("reading the tables needs pyarrow: pip install hmas[console]") from (
            error
        )
    columns = parquet.read_table(path).to_pydict()
    return {name: np.array(values) for name, values in columns.items()}


def read_silicon(root: Path) -> list[dict[str, str]]:
    """End-to-end measurements (TTFT, TPOT) as published, one dict per row."""
    import csv

    path = root / "silicon_sample.csv.gz"
    if not path.is_file():
        raise KernelDataError(f"{path} is missing: see --data")
    with gzip.open(path, "rt", newline="") as rows:
        return list(csv.DictReader(rows))


class StepKernels:
    """Kernel milliseconds of one step of one model: what the GPU alone needs."""

    def __init__(self, tables: KernelTables, shape: ModelShape) -> None:
        parallel = shape.tensor_parallel
        heads, kv_heads = shape.heads // parallel, shape.kv_heads // parallel
        query_key_value = (heads + 2 * kv_heads) * shape.head_dim
        self.shape = shape
        self.generation = tables.generation_attention(heads, kv_heads)
        self._context = tables.context_attention(heads, kv_heads)
        self._head = tables.gemm(65536, shape.hidden)
        self._dense = [
            (tables.gemm(query_key_value, shape.hidden), 1.0),
            (tables.gemm(shape.hidden, heads * shape.head_dim), 1.0),
            *self._mlp(tables, shape),
        ]
        self._all_reduce = tables.all_reduce(parallel) if parallel > 1 else None

    @staticmethod
    def _mlp(tables: KernelTables, shape: ModelShape) -> list[tuple[Curve, float]]:
        if shape.experts:
            router = tables.gemm(shape.experts, shape.hidden)
            return [(tables.experts(shape), 1.0), (router, 1.0)]
        width = shape.intermediate / shape.tensor_parallel / 12288
        gate_up, down = tables.gemm(12288, shape.hidden), tables.gemm(shape.hidden, 12288)
        return [(gate_up, 2 * width), (down, width)]

    def step_ms(self, step: Step) -> float:
        """Raises KeyError when the decode batch is none of :attr:`generation`."""
        layer = sum(scale * curve.at(step.tokens) for curve, scale in self._dense)
        layer += self._attention_ms(step)
        if self._all_reduce is not None:
            layer += 2 * self._all_reduce.at(step.tokens * self.shape.hidden)
        vocabulary = self.shape.vocabulary / self.shape.tensor_parallel
        return self.shape.layers * layer + self._head.at(step.sequences) * vocabulary / 65536

    def _attention_ms(self, step: Step) -> float:
        milliseconds = 0.0
        if step.decodes:
            milliseconds += self.generation[step.decodes, step.decode_context]
        if step.prefill_tokens:
            end = step.prefill_context + step.prefill_tokens
            milliseconds += self._context.at(end)
            if step.prefill_context:
                milliseconds -= self._context.at(step.prefill_context)
        return milliseconds
