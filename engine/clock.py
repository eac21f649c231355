"""Time as a dependency: the one place that reads the system clock."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Where the time comes from."""

    def now_s(self) -> float:
        """Seconds since the Unix epoch (virtual time starts at 0)."""
        ...


class SystemClock:
    """The machine's wall clock: request arrival times of all processes share it."""

    def now_s(self) -> float:
        return time.time()  # noqa: TID251


class FakeClock:
    """A clock that moves only when told to; shipped for tests and virtual time."""

    def __init__(self, start_s: float = 0.0) -> None:
        self._now_s = start_s

    def now_s(self) -> float:
        return self._now_s

    def advance(self, seconds: float) -> None:
        if seconds < 0:
            raise ValueError(f"a clock cannot go back: {seconds} s")
        self._now_s += seconds

    def set(self, now_s: float) -> None:
        """Jump to ``now_s``; backwards only in tests of clock steps."""
        self._now_s = now_s
