"""Perception's learned stage in the gateway: never late, measured in the background, drillable."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from hmas.controllers.perception.accuracy import TaskScores
from hmas.controllers.perception.chain import Classifier, Guess
from hmas.controllers.perception.incoming import Prompt
from hmas.controllers.perception.punctual import PunctualClassifier
from hmas.daemon.gateway.settings import GatewaySettings
from hmas.engine.features import TaskType

MEASURE_EVERY_S: Final = 0.25
"""Between two measurements of a stage that requests go on without."""


class DelayedClassifier:
    """The fault switch ``faults.perception_delay_ms``: another classifier, or none, but slow."""

    def __init__(
        self,
        inner: Classifier | None,
        delay_s: float,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._inner = inner
        self._delay_s = delay_s
        self._sleep = sleep

    def classify(self, prompt: Prompt, budget_s: float) -> Guess | None:
        self._sleep(self._delay_s)
        return None if self._inner is None else self._inner.classify(prompt, budget_s)


class LearnedStage:
    """The classifier as perception gets it, and what keeps its cost known.

    Without ``is_punctual`` it is asked whatever it costs: for tagging that nobody waits for.

    Attributes:
        scores: its guesses beside what clients said, a few of them each second.
    """

    def __init__(
        self, classifier: Classifier | None, settings: GatewaySettings, *, is_punctual: bool = True
    ) -> None:
        delay_s = settings.faults.perception_delay_ms / 1000
        if delay_s > 0:
            classifier = DelayedClassifier(classifier, delay_s)
        self.punctual: PunctualClassifier | None = None
        self.scores = TaskScores()
        self._claim: tuple[Prompt, TaskType] | None = None
        self.classifier = classifier
        if classifier is not None and is_punctual:
            self.punctual = PunctualClassifier(classifier, settings.tagging_budget_ms / 1000)
            self.classifier = self.punctual

    @property
    def skipped(self) -> int:
        """Requests that went on without it."""
        return 0 if self.punctual is None else self.punctual.skipped

    async def rehearse(self) -> None:
        """Measure it before the first request comes."""
        if self.punctual is not None:
            await asyncio.to_thread(self.punctual.rehearse)

    def claimed(self, prompt: Prompt, task_type: TaskType) -> None:
        """A client said the task: the newest prompt is kept until the thread has scored it."""
        self._claim = (prompt, task_type)

    async def run(self) -> None:
        """Measure and score it in a thread now and then, while requests go on without it."""
        punctual = self.punctual
        while punctual is not None:
            await asyncio.sleep(MEASURE_EVERY_S)
            prompt = punctual.to_measure()
            if prompt is not None:
                punctual.measured(await asyncio.to_thread(punctual.measure, prompt))
            claim, self._claim = self._claim, None
            if claim is not None:
                self.scores.add(claim[1], await asyncio.to_thread(punctual.guess, claim[0]))
