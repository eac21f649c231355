"""What earlier requests of the same session turned out to be."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

MAX_SESSIONS: Final = 10_000
NEWEST_SHARE: Final = 0.3
UNKNOWN: Final = (-1.0, -1.0, 0.0)
"""Numbers of a request without a session, or of the first one of its session."""


class SessionLengths:
    """Last and mean log(1 + tokens) of each session, and how many; the oldest are forgotten."""

    def __init__(self, limit: int = MAX_SESSIONS) -> None:
        self._sessions: OrderedDict[tuple[str, str], tuple[float, float, float]] = OrderedDict()
        self._limit = limit

    def numbers(self, tenant: str, session: str | None) -> list[float]:
        """In the order of ``length_model.SESSION_NUMBERS``."""
        if session is None:
            return list(UNKNOWN)
        return list(self._sessions.get((tenant, session), UNKNOWN))

    def add(self, tenant: str, session: str | None, log_tokens: float) -> None:
        if session is None:
            return
        key = (tenant, session)
        _, mean, count = self._sessions.pop(key, UNKNOWN)
        moved = log_tokens if count == 0 else mean + NEWEST_SHARE * (log_tokens - mean)
        self._sessions[key] = (log_tokens, moved, count + 1)
        if len(self._sessions) > self._limit:
            self._sessions.popitem(last=False)
