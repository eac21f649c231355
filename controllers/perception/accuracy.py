"""How often the learned classifier names the task that the client says it is."""

from __future__ import annotations

from collections import deque
from typing import Final

import msgspec

from hmas.engine.features import TaskType

WINDOW: Final = 500


class TaskAccuracy(msgspec.Struct, frozen=True, kw_only=True):
    """Over the newest ``requests`` whose client said the task.

    Attributes:
        right: share of them of which the guess was right.
        unknown: share of them that it left open: no guess, or ``Unknown``.
    """

    requests: int
    right: float
    unknown: float


class TaskScores:
    """Compares guesses with claims; ``scored`` counts them since the start."""

    def __init__(self, window: int = WINDOW) -> None:
        self._newest: deque[tuple[TaskType, TaskType]] = deque(maxlen=window)
        self.scored = 0

    def add(self, claimed: TaskType, guessed: TaskType | None) -> None:
        """A claim of ``Unknown`` is no truth."""
        if claimed is TaskType.UNKNOWN:
            return
        self._newest.append((claimed, guessed or TaskType.UNKNOWN))
        self.scored += 1

    def accuracy(self) -> TaskAccuracy | None:
        """None before the first one."""
        count = len(self._newest)
        if count == 0:
            return None
        return TaskAccuracy(
            requests=count,
            right=sum(claimed is guessed for claimed, guessed in self._newest) / count,
            unknown=sum(guessed is TaskType.UNKNOWN for _, guessed in self._newest) / count,
        )
