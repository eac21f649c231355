"""One request's place in a pump: it waits, it runs in the engine, it has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from enum import Enum, auto
from typing import Final

from hmas.engine.features import RequestFeatures
from hmas.engine.topologies import QueuedRequest

EVENT_END: Final = b"\n\n"

Read = Callable[[], Awaitable[bytes]]


class State(Enum):
    """Where a request is."""

    WAITING = auto()
    RUNNING = auto()
    ENDED = auto()


class Turn:
    """Made by :meth:`Pump.turn`; times are the meter's.

    ``entry`` is the core's view of it, None while the core is not trusted; ``events`` counts
    server-sent events after the first, which look like tokens.
    """

    __slots__ = (
        "_waiter",
        "counted_events",
        "counted_until_s",
        "entry",
        "events",
        "features",
        "max_output_tokens",
        "model",
        "started_s",
        "state",
        "streamed",
    )

    def __init__(
        self, features: RequestFeatures, model: str, max_output_tokens: int | None
    ) -> None:
        self.features = features
        self.model = model
        self.max_output_tokens = max_output_tokens
        self.entry: QueuedRequest | None = None
        self.state = State.WAITING
        self.started_s = 0.0
        self.streamed = False
        self.events = 0
        self.counted_events = 0
        self.counted_until_s = 0.0
        self._waiter: asyncio.Future[None] | None = None

    async def over(self) -> None:
        """Until it no longer waits: it may run, or the pump has handed it back."""
        if self.state is State.WAITING:
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter

    def move(self, state: State) -> None:
        """Enter ``state`` and wake whoever waits for that."""
        self.state = state
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def counting(self, read: Read) -> Read:
        """``read`` of an answer's stream, with its events counted on the way."""

        async def counted() -> bytes:
            chunk = await read()
            self.events += chunk.count(EVENT_END)
            return chunk

        return counted
