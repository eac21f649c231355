"""What the price of a request depends on: the engine's hardware and model, and its load.

One function makes the rows for training and for serving, so the two cannot drift apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

if TYPE_CHECKING:
    import numpy as np

BYTES_PER_WEIGHT: Final = 2
"""Serving engines load weights in 16 bits, whatever the checkpoint holds."""
USABLE_MEMORY: Final = 0.9
"""Share of GPU memory that an engine takes (vLLM's default)."""


class EngineShape(msgspec.Struct, frozen=True, kw_only=True):
    """An engine's GPUs (each of them) and the model that they serve together.

    Attributes:
        bandwidth_gb_s: memory bandwidth of one GPU.
        tflops: dense 16-bit tensor throughput of one GPU.
        link_generation: of PCIe, the path between GPUs without ``has_nvlink``.
        parameters_b: weights in billions.
        checkpoint_bits: of a weight as published (an engine may load fewer).
    """

    gpus: int
    memory_gb: float
    bandwidth_gb_s: float
    tflops: float
    multiprocessors: int
    compute_capability: float
    link_generation: int
    has_nvlink: bool
    parameters_b: float
    layers: int
    heads: int
    vocabulary: int
    is_encoder_decoder: bool = False
    has_flash_attention: bool = True
    checkpoint_bits: int = 16


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """One request, and what an engine holds at the moment it arrives (itself not counted).

    Attributes:
        in_flight: requests sent and not finished; ``prefilling`` of them await a first token.
        in_flight_tokens: prompt tokens of those in flight.
        prefilling_tokens: prompt tokens of those that await their first token.
    """

    prompt_tokens: int
    output_tokens: int
    in_flight: int = 0
    prefilling: int = 0
    in_flight_tokens: int = 0
    prefilling_tokens: int = 0


ENGINE_FEATURES: Final = (
    "parameters_b",
    "layers",
    "heads",
    "hidden_size",
    "vocabulary",
    "is_encoder_decoder",
    "has_flash_attention",
    "checkpoint_bits",
    "gpus",
    "memory_gb",
    "total_memory_gb",
    "bandwidth_gb_s",
    "tflops",
    "multiprocessors",
    "compute_capability",
    "link_generation",
    "has_nvlink",
    "weights_read_ms",
    "weights_read_on_one_gpu_ms",
    "compute_us_per_token",
    "free_memory_gb",
    "kv_capacity_tokens",
    "all_reduces_per_step",
)
LOAD_FEATURES: Final = (
    "concurrency",
    "prompt_tokens",
    "output_tokens",
    "in_flight",
    "prefilling",
    "in_flight_tokens",
    "prefilling_tokens",
)
MIXED_FEATURES: Final = (
    "prefill_compute_ms",
    "backlog_compute_ms",
    "in_flight_compute_ms",
    "concurrency_x_weights_read_ms",
    "kv_capacity_tokens_each",
)
FEATURES: Final = (*ENGINE_FEATURES, *LOAD_FEATURES, *MIXED_FEATURES)
"""Names of the columns of :func:`rows`, in order."""


def engine_features(shape: EngineShape) -> tuple[float, ...]:
    """Values of :data:`ENGINE_FEATURES`.

    A transformer of width h and L layers has about 12·L·h² weights, which gives h; keys and
    values of one token take 2·L·h numbers.
    """
    weights = shape.parameters_b * 1e9
    weight_bytes = BYTES_PER_WEIGHT * weights
    hidden = math.sqrt(weights / (12 * shape.layers))
    read_ms = weight_bytes / (shape.bandwidth_gb_s * 1e9) * 1e3
    total_gb = shape.memory_gb * shape.gpus
    free_gb = USABLE_MEMORY * total_gb - weight_bytes / 1e9
    kv_bytes = BYTES_PER_WEIGHT * 2 * shape.layers * hidden
    return (
        shape.parameters_b,
        shape.layers,
        shape.heads,
        hidden,
        shape.vocabulary,
        float(shape.is_encoder_decoder),
        float(shape.has_flash_attention),
        shape.checkpoint_bits,
        shape.gpus,
        shape.memory_gb,
        total_gb,
        shape.bandwidth_gb_s,
        shape.tflops,
        shape.multiprocessors,
        shape.compute_capability,
        shape.link_generation,
        float(shape.has_nvlink),
        read_ms / shape.gpus,
        read_ms,
        2 * weights / (shape.tflops * 1e12 * shape.gpus) * 1e6,
        free_gb,
        max(0.0, free_gb * 1e9 / kv_bytes),
        0.0 if shape.gpus == 1 else 2.0 * shape.layers * shape.gpus,
    )


def load_features(load: Load) -> tuple[float, ...]:
    """Values of :data:`LOAD_FEATURES`."""
    return (
        load.in_flight + 1,
        load.prompt_tokens,
        load.output_tokens,
        load.in_flight,
        load.prefilling,
        load.in_flight_tokens,
        load.prefilling_tokens,
    )


Numbers = TypeVar("Numbers", float, "np.ndarray")


def _mixed(of_engine: Mapping[str, Numbers], of_load: Mapping[str, Numbers]) -> list[Numbers]:
    """Values of :data:`MIXED_FEATURES`, of one request or of many."""
    token_ms = of_engine["compute_us_per_token"] / 1e3
    return [
        token_ms * of_load["prompt_tokens"],
        token_ms * of_load["prefilling_tokens"],
        token_ms * of_load["in_flight_tokens"],
        of_load["concurrency"] * of_engine["weights_read_ms"],
        of_engine["kv_capacity_tokens"] / of_load["concurrency"],
    ]


def rows(engines: np.ndarray, loads: np.ndarray) -> np.ndarray:
    """Rows of :data:`FEATURES` (float32) from as many rows of engine and of load features."""
    import numpy as np

    of_engine = {name: engines[:, at] for at, name in enumerate(ENGINE_FEATURES)}
    of_load = {name: loads[:, at] for at, name in enumerate(LOAD_FEATURES)}
    mixed = _mixed(of_engine, of_load)
    made: np.ndarray = np.column_stack((engines, loads, *mixed)).astype(np.float32)
    return made


class EngineRows:
    """The rows of one engine's requests, what does not change from one to the next kept."""

    def __init__(self, shape: EngineShape) -> None:
        self._engine = engine_features(shape)
        self._of_engine = dict(zip(ENGINE_FEATURES, self._engine, strict=True))

    def row(self, load: Load) -> Sequence[float]:
        """Values in the order of :data:`FEATURES`."""
        loads = load_features(load)
        of_load = dict(zip(LOAD_FEATURES, loads, strict=True))
        return (*self._engine, *loads, *_mixed(self._of_engine, of_load))
