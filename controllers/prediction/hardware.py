"""GPUs by name, so that settings need no data sheets."""

from __future__ import annotations

from typing import Final, NamedTuple

from hmas.controllers.prediction.cost_features import EngineShape


class Gpu(NamedTuple):
    """One GPU as its maker describes it; ``tflops`` dense, 16 bits, tensor cores."""

    memory_gb: float
    bandwidth_gb_s: float
    tflops: float
    multiprocessors: int
    compute_capability: float
    link_generation: int
    has_nvlink: bool


GPUS: Final = {
    "T4": Gpu(16, 300, 65, 40, 7.5, 3, has_nvlink=False),
    "V100": Gpu(16, 900, 112, 80, 7.0, 3, has_nvlink=False),
    "A10": Gpu(24, 600, 125, 72, 8.6, 4, has_nvlink=False),
    "A100": Gpu(40, 1555, 312, 108, 8.0, 4, has_nvlink=False),
    "A100-80GB": Gpu(80, 2039, 312, 108, 8.0, 4, has_nvlink=True),
    "L40S": Gpu(48, 864, 362, 142, 8.9, 4, has_nvlink=False),
    "H100": Gpu(80, 3350, 989.5, 132, 9.0, 5, has_nvlink=True),
    "H200": Gpu(141, 4800, 989.5, 132, 9.0, 5, has_nvlink=True),
}
"""T4 to A100 and H100 as LLM-Pilot had them, the only ones that a model was trained on."""


def engine_shape(
    gpu: str,
    *,
    parameters_b: float,
    layers: int,
    heads: int,
    vocabulary: int,
    gpus: int = 1,
) -> EngineShape:
    """A decoder-only model of 16 bits with flash attention on ``gpus`` of one kind.

    Raises:
        ValueError: an unknown GPU.
    """
    known = GPUS.get(gpu)
    if known is None:
        raise ValueError(f"unknown GPU {gpu!r}; known: {', '.join(GPUS)}")
    return EngineShape(
        gpus=gpus,
        parameters_b=parameters_b,
        layers=layers,
        heads=heads,
        vocabulary=vocabulary,
        **known._asdict(),
    )
