"""What a request will cost on an engine: from trained models, or from its step-time model."""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable
from itertools import pairwise
from math import ceil, sqrt
from typing import Final, Protocol

import msgspec

from hmas.controllers.prediction.cost_features import EngineRows, EngineShape, Load
from hmas.controllers.prediction.cost_model import CostModel
from hmas.engine.directive import StepModel
from hmas.engine.events import RequestFinished

MAX_CACHED: Final = 4096
STOCK_TOKEN_BUDGET: Final = 2048
"""Tokens of one step where nothing else is known (vLLM's default when serving online)."""
MIN_MS: Final = 1e-3


class Cost(msgspec.Struct, frozen=True):
    """``throughput_tokens_s`` is output tokens over latency, of this request alone."""

    ttft_ms: float
    tpot_ms: float
    latency_per_token_ms: float
    throughput_tokens_s: float


def priced(ttft_ms: float, tpot_ms: float, latency_per_token_ms: float) -> Cost:
    """With the throughput that follows."""
    throughput = 1000 / max(latency_per_token_ms, MIN_MS)
    return Cost(ttft_ms, tpot_ms, latency_per_token_ms, throughput)


class CostPredictor(Protocol):
    """Costs of requests on one engine; None where it cannot tell."""

    @property
    def name(self) -> str: ...

    def cost(self, load: Load) -> Cost | None: ...

    def learn(self, load: Load, finished: RequestFinished) -> None:
        """The truth about a request that found ``load``."""


class TrainedCosts:
    """A trained model on an engine whose hardware and model are known.

    The trees are asked once per bucket of loads (every count to its nearest power of two); the
    least recently asked are forgotten.
    """

    name: Final = "trained"

    def __init__(self, model: CostModel, shape: EngineShape) -> None:
        self._model = model
        self._rows = EngineRows(shape)
        self._cache: OrderedDict[tuple[int, ...], Cost] = OrderedDict()

    def cost(self, load: Load) -> Cost | None:
        key = _bucket(load)
        found = self._cache.get(key)
        if found is not None:
            self._cache.move_to_end(key)
            return found
        predicted = self._model.predict(self._rows.row(_representative(key)))
        made = self._cache[key] = priced(*predicted)
        if len(self._cache) > MAX_CACHED:
            self._cache.popitem(last=False)
        return made

    def learn(self, load: Load, finished: RequestFinished) -> None:
        """It was trained beforehand."""


class AnalyticCosts:
    """The step-time model with the queue's state.

    The backlog of prompts and this one fill steps of ``token_budget`` tokens, beside the
    decodes that run; afterwards every step decodes for all, and waits for new prompts at the
    rate at which they come: each request in flight brings its prompt once per its output.
    ``step_model`` is asked every time, as it is fitted online; None: not known yet.
    """

    name: Final = "analytic"

    def __init__(
        self,
        step_model: Callable[[], StepModel | None],
        token_budget: int = STOCK_TOKEN_BUDGET,
    ) -> None:
        self._step_model = step_model
        self._token_budget = token_budget

    def cost(self, load: Load) -> Cost | None:
        model = self._step_model()
        if model is None:
            return None
        decoding = max(0, load.in_flight - load.prefilling)
        context = load.in_flight_tokens - load.prefilling_tokens
        prompts = load.prefilling_tokens + load.prompt_tokens
        steps = max(1, ceil(prompts / max(1, self._token_budget - decoding)))
        in_step = model.step_ms(prompts / steps, context + prompts, load.in_flight + 1)
        ttft_ms = steps * in_step
        tpot_ms = self._decode_ms(model, load)
        latency_ms = ttft_ms + tpot_ms * max(0, load.output_tokens - 1)
        return priced(ttft_ms, tpot_ms, latency_ms / max(1, load.output_tokens))

    def learn(self, load: Load, finished: RequestFinished) -> None:
        """It is fitted where the steps are seen."""

    @staticmethod
    def _decode_ms(model: StepModel, load: Load) -> float:
        tokens = load.in_flight_tokens + load.prompt_tokens
        prefill = tokens / max(1, load.output_tokens)
        return model.step_ms(prefill, tokens, load.in_flight + 1)


def level(count: int) -> int:
    """The number of the bucket of a count: its nearest power of two."""
    return bisect_left(_EDGES, count)


def _bucket(load: Load) -> tuple[int, ...]:
    return (
        level(load.prompt_tokens),
        level(load.output_tokens),
        level(load.in_flight),
        level(load.prefilling),
        level(load.in_flight_tokens),
        level(load.prefilling_tokens),
    )


def _representative(key: tuple[int, ...]) -> Load:
    return Load(
        prompt_tokens=_LEVELS[key[0]],
        output_tokens=max(1, _LEVELS[key[1]]),
        in_flight=_LEVELS[key[2]],
        prefilling=_LEVELS[key[3]],
        in_flight_tokens=_LEVELS[key[4]],
        prefilling_tokens=_LEVELS[key[5]],
    )


_LEVELS: Final = (0, *(2**power for power in range(22)))
"""The middles of the buckets; the concurrencies that the trees were trained on, among others.

Finer ones would put loads on the wrong side of splits between those concurrencies.
"""
_EDGES: Final = [0.5, *(sqrt(low * high) for low, high in pairwise(_LEVELS[1:]))]
