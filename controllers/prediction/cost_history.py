"""What requests cost that found an engine about as busy as it is now."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from hmas.controllers.prediction.cost import Cost, level, priced
from hmas.controllers.prediction.cost_features import Load
from hmas.controllers.prediction.history import GroupedSamples
from hmas.engine.events import RequestFinished

MAX_GROUPS: Final = 256


class HistoryCosts:
    """Medians of one engine by prompt length and requests in flight, by less where those are few.

    Both are taken to their nearest power of two. TTFT holds the queue, as it was measured.
    """

    name: Final = "history"

    def __init__(self) -> None:
        self._ttft_ms: GroupedSamples[Hashable] = GroupedSamples(MAX_GROUPS)
        self._tpot_ms: GroupedSamples[Hashable] = GroupedSamples(MAX_GROUPS)

    def cost(self, load: Load) -> Cost | None:
        ttft_ms = _first(self._ttft_ms, _by_prompt(load))
        if ttft_ms is None:
            return None
        tpot_ms = _first(self._tpot_ms, _by_company(load)) or 0.0
        latency_ms = ttft_ms + tpot_ms * max(0, load.output_tokens - 1)
        return priced(ttft_ms, tpot_ms, latency_ms / max(1, load.output_tokens))

    def learn(self, load: Load, finished: RequestFinished) -> None:
        if finished.ttft_s > 0:
            for group in _by_prompt(load):
                self._ttft_ms.add(group, finished.ttft_s * 1000)
        if finished.tpot_s > 0:
            for group in _by_company(load):
                self._tpot_ms.add(group, finished.tpot_s * 1000)


def _by_prompt(load: Load) -> tuple[Hashable, ...]:
    prompt = level(load.prompt_tokens)
    return ((prompt, level(load.in_flight)), prompt, None)


def _by_company(load: Load) -> tuple[Hashable, ...]:
    return (level(load.in_flight), None)


def _first(samples: GroupedSamples[Hashable], groups: tuple[Hashable, ...]) -> float | None:
    """The median of the narrowest group that has enough of them."""
    for group in groups:
        value = samples.quantile(group, 0.5)
        if value is not None:
            return value
    return None
