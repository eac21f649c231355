"""A learned tagger that is only asked while it is known to answer in time.

A synchronous stage cannot be interrupted: what it costs has to be known before it is asked.
So its cost is measured, and when its recent 95th percentile exceeds what is left of a request's
budget, or when it was late twice in a row, requests go on without it. Then it is measured off
their way, on a prompt of theirs now and then, until it is punctual again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from hmas.controllers.perception.chain import Classifier, Guess
from hmas.controllers.perception.incoming import Prompt
from hmas.controllers.prediction.sliding import SlidingSample
from hmas.engine.features import TaskType

COST_QUANTILE: Final = 0.95
FEW: Final = 20
"""Below this many measurements the median counts: their 95th percentile would be the worst."""
WINDOW: Final = 128
LATE_IN_A_ROW: Final = 2
"""One late answer may be the machine's fault; two are its own."""
PUNCTUAL_IN_A_ROW: Final = 3

REHEARSAL: Final = (
    Prompt(text="Translate this to German: the train is late.", size_bytes=44),
    Prompt(text="What is the capital of France?", size_bytes=30),
    Prompt(text="Write a function that sorts a list of dates. " * 20, size_bytes=900),
    Prompt(text="Fasse den folgenden Text in zwei Sätzen zusammen. " * 60, size_bytes=3060),
)
"""Prompts to measure with before the first request comes."""
REHEARSALS: Final = 6


class PunctualClassifier:
    """A classifier in front of another, which it asks only when that will answer in time.

    One thread asks :meth:`classify` and calls :meth:`measured`; :meth:`measure` may run in
    another one. Until something is measured, it is not asked.

    Attributes:
        asked: requests that it was asked about.
        skipped: requests that went on without it, because it would have been late.
        late: answers that took longer than their budget.
    """

    def __init__(
        self,
        inner: Classifier,
        budget_s: float,
        *,
        timer: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._inner = inner
        self._budget_s = budget_s
        self._timer = timer
        self._costs_s = SlidingSample(WINDOW)
        self._late_in_a_row = 0
        self._punctual_in_a_row = 0
        self._suspended = False
        self._wanted: Prompt | None = None
        self.asked = 0
        self.skipped = 0
        self.late = 0

    def classify(self, prompt: Prompt, budget_s: float) -> Guess | None:
        """The inner one's guess, or None without asking it when it would be late."""
        if not self._will_be_punctual(budget_s):
            self.skipped += 1
            self._wanted = prompt
            return None
        self.asked += 1
        started_s = self._timer()
        try:
            return self._inner.classify(prompt, budget_s)
        finally:
            self._answered(self._timer() - started_s, budget_s)

    def to_measure(self) -> Prompt | None:
        """A prompt that it was not asked about since the last call; None: nothing to do."""
        wanted, self._wanted = self._wanted, None
        return wanted

    def measure(self, prompt: Prompt) -> float:
        """Seconds that the inner one takes for ``prompt``; what it raises is not for here."""
        started_s = self._timer()
        try:
            self._inner.classify(prompt, self._budget_s)
        except Exception:  # noqa: BLE001  on a request's way the chain counts it
            return self._timer() - started_s
        return self._timer() - started_s

    def guess(self, prompt: Prompt) -> TaskType | None:
        """What the inner one says of ``prompt``, however long it takes; None: nothing."""
        try:
            guess = self._inner.classify(prompt, self._budget_s)
        except Exception:  # noqa: BLE001  a failure is no answer
            return None
        return None if guess is None else guess.task_type

    def measured(self, cost_s: float) -> None:
        """Learn from :meth:`measure`; punctual several times in a row ends a suspension."""
        if cost_s > self._budget_s:
            self._suspend()
            self._costs_s.add(cost_s)
            return
        self._punctual_in_a_row += 1
        if not self.is_asked and self._punctual_in_a_row >= PUNCTUAL_IN_A_ROW:
            # What it cost while it was slow says nothing of now.
            self._costs_s = SlidingSample(WINDOW)
            self._suspended = False
        self._costs_s.add(cost_s)

    def rehearse(self, prompts: tuple[Prompt, ...] = REHEARSAL) -> None:
        """Measure before the first request; the first time, which loads, does not count."""
        self.measure(prompts[0])
        late_in_a_row = 0
        for prompt in prompts * REHEARSALS:
            cost_s = self.measure(prompt)
            self.measured(cost_s)
            late_in_a_row = late_in_a_row + 1 if cost_s > self._budget_s else 0
            if late_in_a_row >= LATE_IN_A_ROW:
                return

    @property
    def cost_s(self) -> float | None:
        """What it takes of late: 95th percentile, the median of few; None: not measured."""
        few = len(self._costs_s) < FEW
        return self._costs_s.quantile(0.5 if few else COST_QUANTILE)

    @property
    def is_asked(self) -> bool:
        """Whether requests with their whole budget left ask it."""
        return self._will_be_punctual(self._budget_s)

    def _will_be_punctual(self, budget_s: float) -> bool:
        cost_s = self.cost_s
        return not self._suspended and cost_s is not None and cost_s <= budget_s

    def _answered(self, cost_s: float, budget_s: float) -> None:
        self._costs_s.add(cost_s)
        if cost_s <= budget_s:
            self._late_in_a_row = 0
            return
        self.late += 1
        self._late_in_a_row += 1
        if self._late_in_a_row >= LATE_IN_A_ROW:
            self._suspend()

    def _suspend(self) -> None:
        self._late_in_a_row = self._punctual_in_a_row = 0
        self._suspended = True
