"""Output lengths by a trained model and by what finished of late, whichever is right more often.

Experts are weighed per tenant, task and model by their measured error, so that it improves by
itself on an operator's own traffic; the history predictor is one of them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from math import floor, log1p
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from hmas.controllers.perception.incoming import EMPTY_PROMPT
from hmas.controllers.prediction.base import Prediction, Question
from hmas.controllers.prediction.history import GroupedSamples, HistoryPredictor
from hmas.controllers.prediction.length_bound import LengthBound
from hmas.controllers.prediction.length_duel import Asked, LengthDuel
from hmas.controllers.prediction.length_experts import WeighedExperts
from hmas.controllers.prediction.length_features import LengthFeatures, LengthText, read_text
from hmas.controllers.prediction.length_linear import OwnNumbers
from hmas.controllers.prediction.length_model import LengthModel, LengthReading, to_tokens
from hmas.controllers.prediction.length_online import OnlineWords
from hmas.controllers.prediction.length_sessions import SessionLengths
from hmas.engine.events import Outcome, RequestFinished
from hmas.engine.features import length_bucket

MAX_PENDING: Final = 8192
"""Questions whose requests still run; of older ones only the history learns."""

EXPERTS: Final = (
    "model",
    "own level",
    "own numbers",
    "own words",
    "history",
    "session",
    "similar",
    "hint",
)
ROUNDING: Final = 1e-6
_PRIOR: Final = (0.0, 0.0, 0.2, 0.3, 2.0, 1.0, 0.5, 8.0)
"""Losses at the start: a stranger's requests are the model's."""
_PRIOR_HINTED: Final = (30.0, 30.0, 30.0, 30.0, 30.0, 30.0, 30.0, 0.0)
"""The client's own expectation holds until it was measured to be wrong."""


class _Pending(msgspec.Struct):
    """What is needed to learn from a request once its length is known; logs of 1 + tokens.

    The question is kept without its prompt: no text stays in memory.
    """

    question: Question
    opinions: list[float]
    group: Hashable
    similar: Hashable
    places: NDArray[np.int64]
    row: list[float]
    asked: Asked
    corrected: float
    base: float = 0.0
    upper: int | None = None


class LengthPredictor:
    """Implements ``Predictor``; latencies are those of the history.

    Attributes:
        model: what was trained beforehand; the other one once ``duel`` says so.
        duel: what scores it, and its challenger, on what has finished.
        bound: the conformal bound with its coverage.
        answers: by the expert that weighed most.
    """

    def __init__(
        self,
        model: LengthModel,
        history: HistoryPredictor | None = None,
        challenger: LengthModel | None = None,
    ) -> None:
        self.model = model
        self.duel = LengthDuel(model, challenger)
        self.bound = LengthBound()
        self.answers = dict.fromkeys(EXPERTS, 0)
        self._history = history or HistoryPredictor()
        self._experts = WeighedExperts(_PRIOR)
        self._hinted = WeighedExperts(_PRIOR_HINTED)
        self._levels: GroupedSamples[Hashable] = GroupedSamples()
        self._similar: GroupedSamples[Hashable] = GroupedSamples()
        self._numbers = OwnNumbers()
        self._words = OnlineWords()
        self._sessions = SessionLengths()
        self._pending: OrderedDict[str, _Pending] = OrderedDict()

    def predict(self, question: Question) -> Prediction:
        known = self._history.predict(
            msgspec.structs.replace(question, hinted_output_tokens=None, max_output_tokens=None)
        )
        text = read_text(question, self.model.models)
        session = self._sessions.numbers(question.tenant, question.session)
        reading = self.model.read(text, session, self._words.own(question.tenant))
        guess = reading.guess
        pending = self._weigh(question, text, reading, known.output_tokens, session)
        weights = self._experts_of(question).weights(pending.group)
        tokens = sum(map(float.__mul__, weights, pending.opinions))
        pending.base = log1p(max(1.0, tokens)) + guess.spread
        best = EXPERTS[max(range(len(weights)), key=weights.__getitem__)]
        self.answers[best] += 1
        pending.upper = self._upper(question, tokens, pending.base)
        self._remember(question.request_id, pending)
        return msgspec.structs.replace(
            known,
            output_tokens=_capped(tokens, question),
            upper_tokens=pending.upper,
            quantile_tokens=_above(question, tokens, pending.base),
            length_source=best,
        )

    def observe(self, finished: RequestFinished) -> None:
        self._history.observe(finished)
        pending = self._pending.pop(finished.features.request_id, None)
        if finished.outcome is not Outcome.COMPLETED or finished.output_tokens < 1:
            return
        if pending is not None:
            self._learn(pending, finished)

    def _weigh(
        self,
        question: Question,
        text: LengthText,
        reading: LengthReading,
        history: float,
        session: list[float],
    ) -> _Pending:
        """All opinions in tokens, in the order of ``EXPERTS``."""
        group = (question.tenant, question.task_type, question.model)
        similar = (question.tenant, text.opening)
        median = reading.guess.median
        level = median + (self._levels.quantile(group, 0.5) or 0.0)
        row = self._numbers.row(text.numbers, median)
        own = self._numbers.predict(group, row)
        corrected = own + reading.correction
        logs = (
            median,
            level,
            own,
            corrected,
            session[0] if session[2] else level,
            self._similar.quantile(similar, 0.5) or level,
        )
        tokens = [to_tokens(max(0.0, one)) for one in logs]
        opinions = [*tokens[:4], float(history), *tokens[4:]]
        opinions.append(float(question.hinted_output_tokens or tokens[1]))
        kept = msgspec.structs.replace(question, prompt=EMPTY_PROMPT)
        features = LengthFeatures(text.numbers, reading.buckets, text.opening)
        asked = self.duel.asked(median, features, session, question.max_output_tokens)
        return _Pending(kept, opinions, group, similar, reading.places, row, asked, corrected)

    def _upper(self, question: Question, tokens: float, base: float) -> int | None:
        margin = self.bound.margin(length_bucket(question.prompt_tokens))
        if margin is None:
            return None
        return _above(question, tokens, base + margin)

    def _learn(self, pending: _Pending, finished: RequestFinished) -> None:
        question, truth = pending.question, finished.output_tokens
        log_truth = log1p(truth)
        hit = None if pending.upper is None else truth <= pending.upper
        self.bound.observe(length_bucket(question.prompt_tokens), log_truth - pending.base, hit=hit)
        self._experts_of(question).observe(pending.group, pending.opinions, truth)
        if pending.asked.model is self.model:
            self._levels.add(pending.group, log_truth - pending.asked.median)
        self._similar.add(pending.similar, log_truth)
        self._numbers.learn(pending.group, pending.row, log_truth)
        self._words.learn(pending.places, log_truth - pending.corrected)
        self._sessions.add(question.tenant, question.session, log_truth)
        self.duel.finished(pending.asked, log_truth)
        if self.duel.model is not self.model:
            # By how much the former was off says nothing of this one.
            self.model = self.duel.model
            self._levels = GroupedSamples()

    def _experts_of(self, question: Question) -> WeighedExperts:
        return self._hinted if question.hinted_output_tokens else self._experts

    def _remember(self, request_id: str, pending: _Pending) -> None:
        if not request_id:
            return
        self._pending[request_id] = pending
        if len(self._pending) > MAX_PENDING:
            self._pending.popitem(last=False)


def _above(question: Question, tokens: float, log_bound: float) -> int:
    """``log_bound`` as tokens: never below the prediction, never above the client's cap."""
    upper = floor(to_tokens(max(0.0, log_bound)) + ROUNDING)
    return _capped(max(upper, round(tokens)), question)


def _capped(tokens: float, question: Question) -> int:
    """Whole tokens, at least one, at most the client's own limit."""
    whole = max(1, round(tokens))
    cap = question.max_output_tokens
    return whole if cap is None else min(whole, cap)
