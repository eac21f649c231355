"""Which cost predictor answers for an engine: the one that was nearer to the truth of late."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Sequence
from math import inf, isfinite, log, sqrt
from typing import Final, NamedTuple

import msgspec

from hmas.controllers.prediction.cost import Cost, CostPredictor
from hmas.controllers.prediction.cost_features import Load
from hmas.engine.events import Outcome, RequestFinished

MAX_PENDING: Final = 20_000
"""Requests whose end may still come; the oldest are forgotten."""
MAX_ERROR: Final = 3.0
"""One request counts as at most a factor of 20 wrong."""
FLOOR_MS: Final = 0.1
"""Latencies below are noise of the clock: errors are taken from here."""


class ChoiceConfig(msgspec.Struct, frozen=True, kw_only=True):
    """When to believe a candidate.

    Attributes:
        memory: weight of the newest request in the exponentially weighted error.
        min_samples: requests that both candidates were measured on before a switch.
        margin: share by which the error of the other must be lower.
        deviations: standard deviations of the difference by which it must be lower.
        dwell: requests that finish between two switches.
    """

    memory: float = 0.02
    min_samples: int = 30
    margin: float = 0.15
    deviations: float = 3.0
    dwell: int = 100


class CandidateError(msgspec.Struct, frozen=True):
    """Mean |ln(predicted / measured)| of TTFT and TPOT, newest weighted most; None: unmeasured."""

    name: str
    error: float | None
    samples: int


class CostChoice(msgspec.Struct, frozen=True):
    """Who predicts the costs on one engine and why; ``switches`` since the start."""

    engine_id: str
    chosen: str
    candidates: tuple[CandidateError, ...]
    switches: int

    @property
    def sentence(self) -> str:
        """For people: ``analytic: error 0.12 (trained 0.55)``."""
        errors = {
            one.name: "unmeasured" if one.error is None else f"{one.error:.2f}"
            for one in self.candidates
        }
        others = ", ".join(f"{name} {errors[name]}" for name in errors if name != self.chosen)
        own = f"{self.chosen}: error {errors[self.chosen]}"
        return f"{own} ({others})" if others else own


class _Track:
    """One candidate's error on one engine: exponentially weighted mean and variance."""

    __slots__ = ("_variance", "_weight", "error", "predictor", "samples")

    def __init__(self, predictor: CostPredictor) -> None:
        self.predictor = predictor
        self.error: float | None = None
        self.samples = 0
        self._variance = 0.0
        self._weight = 1.0

    def add(self, error: float, memory: float) -> None:
        # A plain mean at first, so that the first request does not weigh for long.
        self.samples += 1
        self._weight = max(memory, 1 / self.samples)
        off = 0.0 if self.error is None else error - self.error
        self.error = error if self.error is None else self.error + self._weight * off
        self._variance = (1 - self._weight) * (self._variance + self._weight * off * off)

    @property
    def doubt(self) -> float:
        """Variance of ``error`` itself, about that of a mean of as many samples as count."""
        return self._variance * self._weight


class _Pending(NamedTuple):
    """A request that runs: the load it found, and what was said of it so far."""

    load: Load
    said: dict[_Track, Cost | None]

    def ask(self, track: _Track) -> Cost | None:
        """What the candidate says, asked once."""
        if track not in self.said:
            self.said[track] = track.predictor.cost(self.load)
        return self.said[track]


class EngineChoice:
    """The candidates of one engine, the most trusted beforehand first.

    Attributes:
        answers: requests by the name of the candidate that spoke.
    """

    def __init__(
        self,
        engine_id: str,
        candidates: Sequence[CostPredictor],
        config: ChoiceConfig | None = None,
    ) -> None:
        if not candidates:
            raise ValueError(f"engine {engine_id} has no cost predictor")
        self._engine_id = engine_id
        self.answers: Counter[str] = Counter()
        self._config = config or ChoiceConfig()
        self._tracks = [_Track(candidate) for candidate in candidates]
        self._chosen = self._tracks[0]
        self._pending: OrderedDict[str, _Pending] = OrderedDict()
        self._since_switch = 0
        self._switches = 0

    def predict(self, request_id: str, load: Load) -> tuple[Cost | None, str]:
        """The cost and who said it; the next candidate speaks where the chosen one cannot.

        The others are asked about the same load once the request has finished: by then they may
        have learned a little more, which the margin of a switch allows for.
        """
        pending = _Pending(load, {})
        if request_id:
            self._remember(request_id, pending)
        for track in (self._chosen, *self._tracks):
            cost = pending.ask(track)
            if cost is not None:
                self.answers[track.predictor.name] += bool(request_id)
                return cost, track.predictor.name
        return None, ""

    def forget(self, request_id: str) -> None:
        """A request that will not finish here."""
        self._pending.pop(request_id, None)

    def observe(self, finished: RequestFinished) -> None:
        """Measures every candidate on what it said of this request, then chooses."""
        pending = self._pending.pop(finished.features.request_id, None)
        if pending is None or finished.outcome is not Outcome.COMPLETED:
            return
        for track in self._tracks:
            cost = pending.ask(track)
            error = None if cost is None else log_error(cost, finished)
            if error is not None:
                track.add(error, self._config.memory)
            track.predictor.learn(pending.load, finished)
        self._since_switch += 1
        self._choose()

    def choice(self) -> CostChoice:
        """What to show."""
        return CostChoice(
            engine_id=self._engine_id,
            chosen=self._chosen.predictor.name,
            candidates=tuple(
                CandidateError(track.predictor.name, track.error, track.samples)
                for track in self._tracks
            ),
            switches=self._switches,
        )

    def _remember(self, request_id: str, pending: _Pending) -> None:
        self._pending[request_id] = pending
        if len(self._pending) > MAX_PENDING:
            self._pending.popitem(last=False)

    def _choose(self) -> None:
        best = min(self._tracks, key=self._trusted_error)
        settled = self._switches == 0 or self._since_switch >= self._config.dwell
        if best is not self._chosen and settled and self._is_clearly_better(best):
            self._chosen = best
            self._switches += 1
            self._since_switch = 0

    def _is_clearly_better(self, other: _Track) -> bool:
        """By a margin that matters, and that chance does not explain."""
        own = self._trusted_error(self._chosen)
        gap = own - self._trusted_error(other)
        by_chance = self._config.deviations * sqrt(self._chosen.doubt + other.doubt)
        return gap == inf or gap > max(self._config.margin * own, by_chance)

    def _trusted_error(self, track: _Track) -> float:
        if track.error is None or track.samples < self._config.min_samples:
            return inf
        return track.error


def log_error(cost: Cost, finished: RequestFinished) -> float | None:
    """Mean |ln(predicted / measured)| of the latencies that were measured; None: none was.

    TTFT counts with its queue, as the load that was predicted for holds the queue.
    """
    pairs = ((cost.ttft_ms, finished.ttft_s * 1000), (cost.tpot_ms, finished.tpot_s * 1000))
    errors = [
        min(MAX_ERROR, abs(log(max(said, FLOOR_MS) / max(was, FLOOR_MS))))
        for said, was in pairs
        if was > 0 and isfinite(said)
    ]
    return sum(errors) / len(errors) if errors else None
