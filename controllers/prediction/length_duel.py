"""Which of two length models answers: the configured one, or a challenger that proved better."""

from __future__ import annotations

from math import log1p
from typing import Final, NamedTuple

import msgspec

from hmas.controllers.prediction.duel import Drift, Duel, DuelConfig, DuelState, Standing
from hmas.controllers.prediction.length_features import LengthFeatures
from hmas.controllers.prediction.length_model import LengthModel


class Asked(msgspec.Struct, frozen=True):
    """What a model was asked about one request, and said: numbers and hashes, never text.

    Attributes:
        model: who answered.
        median: its answer, in log(1 + tokens).
        features: what another model can be asked with; None where there is no other.
        cap: the client's limit on the answer, in tokens.
    """

    model: LengthModel
    median: float
    features: LengthFeatures | None = None
    session: list[float] = []
    cap: int | None = None


class _Changes(NamedTuple):
    """Counted over all duels since the start."""

    drifts: int
    promotions: int
    rollbacks: int


_NO_CHANGES: Final = _Changes(0, 0, 0)


class LengthDuel:
    """Scores both models when a request has finished, so that it costs no request any time.

    Each is judged by its own median: what experts and corrections make of it adapts by itself.
    """

    def __init__(
        self,
        incumbent: LengthModel,
        challenger: LengthModel | None = None,
        config: DuelConfig | None = None,
    ) -> None:
        self._incumbent = incumbent
        self._challenger = challenger
        self._config = config
        self._duel = Duel(config, has_challenger=challenger is not None)
        self._earlier = _NO_CHANGES

    def challenge(self, challenger: LengthModel) -> None:
        """A new challenger to whoever answers now; the other one is let go."""
        self._earlier = self._changes()
        self._incumbent, self._challenger = self.model, challenger
        self._duel = Duel(self._config)

    @property
    def model(self) -> LengthModel:
        """The one that answers."""
        if self._challenger is not None and self._duel.challenger_answers:
            return self._challenger
        return self._incumbent

    @property
    def other(self) -> LengthModel | None:
        """The one in the shadow."""
        return self._incumbent if self._duel.challenger_answers else self._challenger

    def asked(
        self,
        median: float,
        features: LengthFeatures,
        session: list[float],
        cap: int | None,
    ) -> Asked:
        """What to keep of a question until its truth is known."""
        if self._challenger is None:
            return Asked(self._incumbent, median, cap=cap)
        return Asked(self.model, median, features, session, cap)

    def finished(self, asked: Asked, log_tokens: float) -> None:
        """The truth, in log(1 + tokens); :attr:`model` may be another afterwards."""
        if self._challenger is None:
            self._duel.observe(self._loss(self._incumbent, asked, log_tokens))
        elif asked.features is not None:
            self._duel.observe(
                self._loss(self._incumbent, asked, log_tokens),
                self._loss(self._challenger, asked, log_tokens),
            )

    def state(self) -> DuelState:
        """Of the present duel; drifts, promotions and rollbacks are those of all."""
        return msgspec.structs.replace(self._duel.state(), **self._changes()._asdict())

    def _changes(self) -> _Changes:
        now, then = self._duel.state(), self._earlier
        return _Changes(
            drifts=now.drifts + then.drifts,
            promotions=now.promotions + then.promotions,
            rollbacks=now.rollbacks + then.rollbacks,
        )

    def _loss(self, model: LengthModel, asked: Asked, log_tokens: float) -> float:
        """|log of (1 + predicted) over (1 + actual)|; none may exceed the client's limit."""
        said = asked.median
        if model is not asked.model and asked.features is not None:
            said = model.guess(asked.features, asked.session).median
        if asked.cap is not None:
            said = min(said, log1p(max(1, asked.cap)))
        return abs(said - log_tokens)


def sentence(state: DuelState) -> str:
    """For people: who answers, how the other does, whether the loss drifts."""
    said = f"loss {state.champion_loss:.3f}" if state.champion_loss is not None else "no loss yet"
    said += f" over {state.requests} requests"
    if state.other_loss is not None:
        said += f", {state.other_loss:.3f} of the other"
    standings = {
        Standing.ABSENT: "no challenger",
        Standing.SHADOW: "the challenger is in the shadow",
        Standing.PROMOTED: "the challenger was promoted and answers",
        Standing.QUARANTINED: "the challenger was rolled back",
    }
    drift = "" if state.drift is Drift.STABLE else f"; the loss drifts: {state.drift}"
    return f"{standings[state.standing]}; {said}{drift}"
