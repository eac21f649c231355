"""The engines behind the gateway: who serves what, who is up, who has least to do."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import msgspec
from yarl import URL

from hmas.daemon.gateway.limits import CountTable
from hmas.daemon.gateway.settings import EngineTarget

if TYPE_CHECKING:
    from hmas.daemon.gateway.pump.pump import Pump

TRIAL_INTERVAL_S: Final = 1.0
"""How long a failed engine is left alone before one more request may try it."""
FIRST_BACKOFF_S: Final = 0.05
LAST_BACKOFF_S: Final = 1.0
MAX_CACHED_URLS: Final = 1024

_encode = msgspec.json.Encoder().encode


class Unavailable(StrEnum):
    """Why no engine can take a request now."""

    DOWN = "down"
    FULL = "full"
    BUSY = "busy"


class Engine:
    """One engine and what the gateway has learned of it.

    Attributes:
        models: names it serves; empty: not known yet, so it is offered everything.
        model_cards: what its ``/v1/models`` said, by name.
        is_up: false after a failed connection or health check, until it answers anything.
        busy_until_s: it answered 503 itself and is left alone until then.
        pump: holds its requests back; None: they go to it at once.
    """

    def __init__(self, target: EngineTarget, counts: CountTable, column: int) -> None:
        self.target = target
        self.id = target.engine_id
        self.models: frozenset[str] = frozenset(target.models)
        self.model_cards: dict[str, msgspec.Raw] = {}
        self.is_up = True
        self.busy_until_s = 0.0
        self.pump: Pump | None = None
        self._retry_at_s = 0.0
        self._answered_at_s = -math.inf
        self._backoff_s = FIRST_BACKOFF_S
        self._counts = counts
        self._column = column
        self._urls: dict[str, URL] = {}
        key = target.api_key
        self.authorization = None if key is None else f"Bearer {key.get_secret_value()}"

    @property
    def in_flight(self) -> int:
        """Requests it holds, from all workers."""
        return self._counts.total(self._column)

    @property
    def own_in_flight(self) -> int:
        """Requests it holds from this worker."""
        return self._counts.own(self._column)

    def take(self) -> None:
        self._counts.add(self._column, 1)

    def release(self) -> None:
        self._counts.add(self._column, -1)

    def url(self, path_and_query: str) -> URL:
        """Parsed once per path: building it anew costs more than the lookup."""
        url = self._urls.get(path_and_query)
        if url is None:
            url = URL(self.target.base_url + path_and_query, encoded=True)
            if len(self._urls) < MAX_CACHED_URLS:
                self._urls[path_and_query] = url
        return url

    def serves(self, model: str | None) -> bool:
        return model is None or not self.models or model in self.models

    def unavailable(self, now_s: float) -> Unavailable | None:
        if not self.is_up and now_s < self._retry_at_s:
            return Unavailable.DOWN
        if now_s < self.busy_until_s:
            return Unavailable.BUSY
        if self.in_flight >= self.target.max_in_flight:
            return Unavailable.FULL
        return None

    def has_answered_since(self, since_s: float) -> bool:
        """An answer outweighs one connection or health check that failed meanwhile."""
        return self._answered_at_s >= since_s

    def unreachable(self, since_s: float, now_s: float) -> None:
        """A connection begun at ``since_s`` failed: leave the engine alone for a moment."""
        if not self.has_answered_since(since_s):
            self.is_up = False
            self._retry_at_s = now_s + TRIAL_INTERVAL_S

    def suspected(self, since_s: float) -> None:
        """A health check begun at ``since_s`` failed: others go first, but none is refused.

        A slow or broken ``/health`` must never stop traffic that the engine would serve.
        """
        if not self.has_answered_since(since_s):
            self.is_up = False

    def succeeded(self, now_s: float) -> None:
        """It answered a request or a health check."""
        self.is_up = True
        self._retry_at_s = 0.0
        self._answered_at_s = now_s
        self._backoff_s = FIRST_BACKOFF_S

    def refused(self, now_s: float) -> None:
        """It answered 503 itself: alive, but to be left alone for a growing moment."""
        self._answered_at_s = now_s
        self.busy_until_s = now_s + self._backoff_s
        self._backoff_s = min(LAST_BACKOFF_S, 2 * self._backoff_s)


class EnginePool:
    """All engines; picks the one with the fewest requests in flight."""

    def __init__(self, engines: Iterable[Engine]) -> None:
        self.engines = tuple(engines)
        self._turn = 0

    def known_models(self) -> list[str]:
        return sorted({model for engine in self.engines for model in engine.models})

    def model_list(self) -> bytes:
        """The body of ``/v1/models``: the engines' own cards, a plain one where they have none."""
        cards = [self._card(name) for name in self.known_models()]
        return _encode({"object": "list", "data": cards})

    def model_card(self, name: str) -> bytes | None:
        """The body of ``/v1/models/<name>``, None when nobody serves it."""
        return _encode(self._card(name)) if name in self.known_models() else None

    def _card(self, name: str) -> msgspec.Raw | dict[str, object]:
        for engine in self.engines:
            if name in engine.models and name in engine.model_cards:
                return engine.model_cards[name]
        return {"id": name, "object": "model", "created": 0, "owned_by": "hmas"}

    def serves(self, model: str | None) -> bool:
        return any(engine.serves(model) for engine in self.engines)

    def any_up(self) -> bool:
        return any(engine.is_up for engine in self.engines)

    def choose(
        self, model: str | None, now_s: float, tried: Collection[Engine] = ()
    ) -> Engine | Unavailable:
        """The least loaded engine that can take ``model`` now and is not in ``tried``.

        Equals take turns. An engine known to be up goes before one that is only due a trial.
        With none, the most hopeful reason: busy before full before down.
        """
        self._turn += 1
        return self._best(self._turn, model, now_s, tried)

    def foreseen(self, model: str | None, now_s: float) -> Engine | None:
        """Whom :meth:`choose` would name now; with none that can, one that it may wait for."""
        if len(self.engines) == 1:
            return self.engines[0]
        found = self._best(self._turn + 1, model, now_s, ())
        if isinstance(found, Engine):
            return found
        return next((engine for engine in self.engines if engine.serves(model)), None)

    def _best(
        self, turn: int, model: str | None, now_s: float, tried: Collection[Engine]
    ) -> Engine | Unavailable:
        best: Engine | None = None
        best_rank: tuple[bool, int] | None = None
        reasons = set()
        count = len(self.engines)
        for offset in range(count):
            engine = self.engines[(turn + offset) % count]
            if engine in tried or not engine.serves(model):
                continue
            reason = engine.unavailable(now_s)
            if reason is not None:
                reasons.add(reason)
                continue
            rank = (not engine.is_up, engine.in_flight)
            if best_rank is None or rank < best_rank:
                best, best_rank = engine, rank
        if best is not None:
            return best
        for reason in (Unavailable.BUSY, Unavailable.FULL):
            if reason in reasons:
                return reason
        return Unavailable.DOWN

    def patient(self, model: str | None) -> Engine | None:
        """One whose pump lets requests wait while it is too busy; None: there is none."""
        for engine in self.engines:
            is_full = engine.in_flight >= engine.target.max_in_flight
            if engine.pump is not None and engine.serves(model) and not is_full:
                return engine
        return None

    def next_free_s(self, model: str | None, now_s: float) -> float:
        """Seconds until the first of the busy engines may be asked again."""
        waits = [
            engine.busy_until_s - now_s
            for engine in self.engines
            if engine.serves(model) and engine.is_up and engine.busy_until_s > now_s
        ]
        return min(waits, default=FIRST_BACKOFF_S)
