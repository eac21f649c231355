"""An engine, a load, and a finished request for tests of cost prediction."""

from __future__ import annotations

import numpy as np

from hmas.controllers.prediction.cost_features import FEATURES, EngineShape
from hmas.controllers.prediction.cost_model import FORMAT, TARGETS, CostRecord
from hmas.controllers.prediction.oblivious import TreeRecord
from hmas.engine.events import Outcome, RequestFinished
from hmas.engine.features import RequestFeatures

A100 = EngineShape(
    gpus=1,
    memory_gb=40,
    bandwidth_gb_s=1555,
    tflops=312,
    multiprocessors=108,
    compute_capability=8.0,
    link_generation=4,
    has_nvlink=False,
    parameters_b=7,
    layers=32,
    heads=32,
    vocabulary=32_000,
)


def one_split(feature: str, border: float, low: float, high: float) -> TreeRecord:
    """A single tree: ``low`` up to the border of a feature, ``high`` above (in logarithms)."""
    return TreeRecord(
        trees=1,
        depth=1,
        outputs=1,
        features=np.array([FEATURES.index(feature)], dtype="<u1").tobytes(),
        borders=np.array([border], dtype="<f4").tobytes(),
        leaves=np.log(np.array([low, high])).astype("<f4").tobytes(),
        bias=[0.0],
    )


def record() -> CostRecord:
    """TTFT 10 or 100 ms by prompt length, 20 ms per token, 40 ms of latency per token."""
    return CostRecord(
        format=FORMAT,
        version="1",
        licence="none",
        source="made up",
        data_hash="0",
        seed=0,
        features=list(FEATURES),
        metrics={},
        trees={
            TARGETS[0]: one_split("prompt_tokens", 100, 10, 100),
            TARGETS[1]: one_split("in_flight", 1000, 20, 20),
            TARGETS[2]: one_split("in_flight", 1000, 40, 40),
        },
    )


def finished(
    request_id: str,
    ttft_ms: float,
    tpot_ms: float,
    outcome: Outcome = Outcome.COMPLETED,
) -> RequestFinished:
    return RequestFinished(
        at_s=1.0,
        features=RequestFeatures(request_id=request_id, arrival_s=0.0),
        outcome=outcome,
        prompt_tokens=100,
        output_tokens=20,
        ttft_s=ttft_ms / 1000,
        tpot_s=tpot_ms / 1000,
    )
