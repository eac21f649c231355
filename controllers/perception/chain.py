"""Perception's chain: explicit > tenant defaults > learned, else rules > historical prior."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from typing import Final, NamedTuple, Protocol

from hmas.controllers.perception.incoming import Claims, Incoming, Prompt, TenantDefaults
from hmas.controllers.perception.priors import TaskPrior, TokenRatio
from hmas.controllers.perception.rules import classify
from hmas.controllers.perception.slo import NEUTRAL_IMPORTANCE, SloPair, slo_targets
from hmas.controllers.prediction.base import Prediction, Predictor, Question
from hmas.engine.events import RequestFinished
from hmas.engine.features import RequestFeatures, TaskType, length_bucket

MAX_PROMPT_TOKENS: Final = 2**31


class Source(StrEnum):
    """Who named the task type."""

    EXPLICIT = "explicit"
    TENANT = "tenant"
    RULES = "rules"
    LEARNED = "learned"
    PRIOR = "prior"


class Guess(NamedTuple):
    """A task type and the calibrated probability that it is the right one."""

    task_type: TaskType
    probability: float


class Explained(NamedTuple):
    """The features of one request, and where their parts come from.

    ``probability`` is that of the task type: 1 where somebody said it, the classifier's own
    where it was learned (also when it was too improbable to count), None where nobody knows.
    """

    features: RequestFeatures
    source: Source
    probability: float | None
    prediction: Prediction


class _Named(NamedTuple):
    """A task type, who named it, and how probable it is."""

    task_type: TaskType
    source: Source
    probability: float | None = None


class Classifier(Protocol):
    """A learned tagger; it must answer within ``budget_s`` or not be asked at all."""

    def classify(self, prompt: Prompt, budget_s: float) -> Guess | None: ...


class Perception:
    """Turns an incoming request into its features; never raises, never waits.

    Each stage is bounded by the size of the bounded prompt; when ``budget_s`` is used up, no
    further stage starts. The rules answer first, because they are always in time; the learned
    classifier, which measures better and knows what the rules said, overrules them when its
    guess is at least as probable as ``min_probability``.

    Attributes:
        counts: requests by the source of their task type.
        overruns: requests that used up the budget.
        classifier_errors: failures of the learned classifier, each one served as unknown.
    """

    def __init__(
        self,
        predictor: Predictor,
        *,
        classifier: Classifier | None = None,
        budget_s: float = 0.002,
        min_probability: float = 0.3,
        timer: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._predictor = predictor
        self._classifier = classifier
        self._budget_s = budget_s
        self._min_probability = min_probability
        self._timer = timer
        self._tasks = TaskPrior()
        self._ratio = TokenRatio()
        self.counts: Counter[Source] = Counter()
        self.overruns = 0
        self.classifier_errors = 0

    def tag(self, incoming: Incoming) -> RequestFeatures:
        """x_r of one request (paper 3.2)."""
        return self.explain(incoming).features

    def explain(self, incoming: Incoming) -> Explained:
        """:meth:`tag`, with the source of its answers."""
        claims, defaults = incoming.claims, incoming.defaults
        tenant = _tenant(claims, defaults)
        task_type, source, probability = self._task(incoming)
        self.counts[source] += 1
        profile = self._profile(tenant, task_type, source)
        importance = _importance(claims, defaults)
        slo = _slo(claims, defaults, slo_targets(profile, importance))
        prompt_tokens = self._prompt_tokens(incoming.prompt)
        prediction = self._predict(incoming, tenant, profile, prompt_tokens)
        features = RequestFeatures(
            request_id=incoming.request_id,
            arrival_s=incoming.arrival_s,
            tenant=tenant,
            tenant_weight=defaults.weight,
            task_type=task_type,
            importance=importance,
            priority=_priority(claims, defaults),
            slo_ttft_ms=slo.ttft_ms,
            slo_tpot_ms=slo.tpot_ms,
            prompt_tokens=prompt_tokens,
            predicted_output_tokens=prediction.output_tokens,
            predicted_ttft_ms=prediction.ttft_ms,
            predicted_tpot_ms=prediction.tpot_ms,
            length_bucket=length_bucket(prompt_tokens),
            job_id=claims.job_id,
            stage=claims.stage,
            role=claims.role,
            known=source is not Source.PRIOR or _targets_claimed(claims),
        )
        return Explained(features, source, probability, prediction)

    def rehearse(self) -> None:
        """Predict once before the first request: what the first call loads is loaded then."""
        self._predictor.predict(
            Question(
                tenant="", task_type=TaskType.UNKNOWN, prompt_tokens=1, prompt=Prompt(text="Hello")
            )
        )

    def observe(self, finished: RequestFinished, prompt_bytes: int = 0) -> None:
        """Learn from a finished request whose lengths the engine reported."""
        self._predictor.observe(finished)
        self._ratio.observe(prompt_bytes, finished.prompt_tokens)

    def _task(self, incoming: Incoming) -> _Named:
        if incoming.claims.task_type is not None:
            return _Named(incoming.claims.task_type, Source.EXPLICIT, 1.0)
        if incoming.defaults.task_type is not None:
            return _Named(incoming.defaults.task_type, Source.TENANT, 1.0)
        started_s = self._timer()
        found = self._read(incoming.prompt, started_s + self._budget_s)
        if self._timer() - started_s > self._budget_s:
            self.overruns += 1
        return found

    def _read(self, prompt: Prompt, until_s: float) -> _Named:
        ruled = classify(prompt)
        left_s = until_s - self._timer()
        guess = None
        if self._classifier is not None and left_s > 0:
            guess = self._learned(self._classifier, prompt, left_s)
        if guess is not None and self._is_sure(guess):
            return _Named(guess.task_type, Source.LEARNED, guess.probability)
        if ruled is not None:
            return _Named(ruled, Source.RULES)
        return _Named(TaskType.UNKNOWN, Source.PRIOR, guess.probability if guess else None)

    def _is_sure(self, guess: Guess) -> bool:
        return (
            guess.probability >= self._min_probability and guess.task_type is not TaskType.UNKNOWN
        )

    def _learned(self, classifier: Classifier, prompt: Prompt, left_s: float) -> Guess | None:
        try:
            return classifier.classify(prompt, left_s)
        except Exception:  # noqa: BLE001  a plug-in's failure must not become the request's
            self.classifier_errors += 1
            return None

    def _profile(self, tenant: str, task_type: TaskType, source: Source) -> TaskType:
        """The task whose cost profile applies: its own, or the prior's when unrecognised."""
        if source is Source.PRIOR:
            return self._tasks.task_type(tenant) or TaskType.UNKNOWN
        self._tasks.add(tenant, task_type)
        return task_type

    def _predict(
        self, incoming: Incoming, tenant: str, profile: TaskType, prompt_tokens: int
    ) -> Prediction:
        return self._predictor.predict(
            Question(
                tenant=tenant,
                task_type=profile,
                prompt_tokens=prompt_tokens,
                hinted_output_tokens=incoming.claims.output_tokens,
                max_output_tokens=incoming.max_output_tokens,
                model=incoming.model,
                session=incoming.claims.job_id,
                temperature=incoming.temperature,
                prompt=incoming.prompt,
                request_id=incoming.request_id,
            )
        )

    def _prompt_tokens(self, prompt: Prompt) -> int:
        if prompt.token_ids is not None:
            return min(prompt.token_ids, MAX_PROMPT_TOKENS)
        return min(self._ratio.tokens(prompt.size_bytes), MAX_PROMPT_TOKENS)


def _tenant(claims: Claims, defaults: TenantDefaults) -> str:
    if defaults.trusted and claims.tenant is not None:
        return claims.tenant
    return defaults.tenant


def _priority(claims: Claims, defaults: TenantDefaults) -> int:
    """A client may lower its own priority; only a trusted one may raise it."""
    if claims.priority is None:
        return defaults.priority
    return claims.priority if defaults.trusted else min(claims.priority, defaults.priority)


def _importance(claims: Claims, defaults: TenantDefaults) -> float:
    if claims.importance is None:
        return defaults.importance
    ceiling = 1.0 if defaults.trusted else max(defaults.importance, NEUTRAL_IMPORTANCE)
    return min(claims.importance, ceiling)


def _slo(claims: Claims, defaults: TenantDefaults, derived: SloPair) -> SloPair:
    ttft_ms = claims.slo_ttft_ms or defaults.slo_ttft_ms or derived.ttft_ms
    tpot_ms = claims.slo_tpot_ms or defaults.slo_tpot_ms or derived.tpot_ms
    return SloPair(
        max(ttft_ms, defaults.min_slo_ttft_ms or 0.0),
        max(tpot_ms, defaults.min_slo_tpot_ms or 0.0),
    )


def _targets_claimed(claims: Claims) -> bool:
    return claims.slo_ttft_ms is not None and claims.slo_tpot_ms is not None
