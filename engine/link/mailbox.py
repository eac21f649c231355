"""Hands what the link thread receives to the engine, between two of its steps."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from hmas.engine.directive import ControlReply, ControlRequest

DELIVERY_TIMEOUT_S: Final = 5.0


class EngineBusyError(RuntimeError):
    """The engine did not reach the end of a step in time; nothing was applied."""


class DirectiveMailbox:
    """Mutual exclusion between the link thread and the engine's main thread.

    The engine holds ``lock`` during each of its calls (add, finish, schedule, update). The
    link thread applies a request while it holds the same lock: hence never inside a step,
    complete before the next one starts, and at once when the engine is idle. A directive is
    either applied before its ACK or not at all; nothing stays behind after a refusal.
    """

    __slots__ = ("_answer", "_timeout_s", "lock")

    def __init__(
        self,
        answer: Callable[[ControlRequest], ControlReply],
        *,
        timeout_s: float = DELIVERY_TIMEOUT_S,
    ) -> None:
        self.lock = threading.RLock()
        self._answer = answer
        self._timeout_s = timeout_s

    def deliver(self, request: ControlRequest) -> ControlReply:
        """Apply ``request`` between two steps.

        Raises:
            EngineBusyError: one step lasts longer than the timeout.
        """
        if not self.lock.acquire(timeout=self._timeout_s):
            raise EngineBusyError(f"no step boundary within {self._timeout_s} s; nothing changed")
        try:
            return self._answer(request)
        finally:
            self.lock.release()
