"""Finding an engine that answers: failover before the first byte, requeueing on its 503."""

from __future__ import annotations

import asyncio
import io
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Final

from aiohttp import (
    ClientConnectorError,
    ClientError,
    ClientResponse,
    ClientSession,
    ConnectionTimeoutError,
    SocketTimeoutError,
)

from hmas.daemon.gateway.call import Call
from hmas.daemon.gateway.engines import Engine, EnginePool, Unavailable
from hmas.daemon.gateway.errors import ApiError, engine_failed, saturated, unavailable
from hmas.daemon.gateway.forwarding import to_engine
from hmas.daemon.gateway.limits import DrainRate
from hmas.daemon.gateway.metrics import GatewayMetrics
from hmas.daemon.gateway.pump.pump import Pump
from hmas.daemon.gateway.pump.turn import Read, Turn
from hmas.daemon.gateway.settings import GatewaySettings
from hmas.engine.clock import Clock
from hmas.engine.events import ShedReason

EVENT_STREAM: Final = "text/event-stream"
UNAVAILABLE: Final = 503
MAX_WRITTEN_AT_ONCE: Final = 2**18
OVERLOADED_FOR_S: Final = 30.0
"""An engine that answered within this time and does not accept a connection, without refusing
it either, is overloaded and not gone: requests wait for it."""
NOT_ADDED: Final = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")
"""Headers that aiohttp must not invent when the client did not send them."""

_log = logging.getLogger("hmas.gateway.dispatch")


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request for whichever engine takes it.

    ``repeatable`` requests may be sent again although an engine may have begun with them.
    """

    method: str
    path_and_query: str
    headers: Mapping[str, str]
    model: str | None
    body_for: Callable[[Engine], bytes | None]
    repeatable: bool


@dataclass(frozen=True, slots=True)
class Sessions:
    """``pooled`` keeps idle connections, ``fresh`` opens a new one for every request.

    An engine that is short of CPU closes idle connections late or early, many at a time: after
    one that was closed, the next of the pool most often is, too.
    """

    pooled: ClientSession
    fresh: ClientSession


@dataclass(slots=True)
class Answer:
    """An engine's answer with its first bytes (all of them when ``complete``); close it.

    ``turn`` is its place in the engine's pump, where it has one.
    """

    engine: Engine
    upstream: ClientResponse
    start: bytes
    complete: bool
    turn: Turn | None = None

    @property
    def read(self) -> Read:
        """Reads what comes after ``start``."""
        read = self.upstream.content.readany
        return read if self.turn is None else self.turn.counting(read)

    def close(self) -> None:
        """Give the engine's slot back; an answer not read to its end is aborted there."""
        self.upstream.close()
        self.engine.release()
        if self.turn is not None and self.engine.pump is not None:
            self.engine.pump.end(self.turn)


@dataclass(slots=True)
class _Attempts:
    """What one request has been through.

    Attributes:
        unreached: engines whose connection failed in this pass over the engines.
        overloaded: those of them that answered lately and did not refuse the connection.
        hung_up: engines that broke the connection once, which may be a stale idle one: the
            next attempt there gets a connection of its own.
        given_up: engines that did so twice: perhaps it is this request that breaks them.
        held: the engine in whose pump it has waited: there it goes on waiting when no other one
            can take it.
    """

    until_s: float
    unreached: set[Engine] = field(default_factory=set)
    overloaded: set[Engine] = field(default_factory=set)
    hung_up: set[Engine] = field(default_factory=set)
    given_up: set[Engine] = field(default_factory=set)
    held: Engine | None = None

    def tried(self) -> set[Engine]:
        return self.unreached | self.given_up


class Dispatcher:
    """Sends a request to the least loaded live engine, and on to another while it still can."""

    def __init__(
        self,
        pool: EnginePool,
        sessions: Sessions,
        *,
        settings: GatewaySettings,
        metrics: GatewayMetrics,
        drain_rate: DrainRate,
        clock: Clock,
    ) -> None:
        self._pool = pool
        self._sessions = sessions
        self._settings = settings
        self._metrics = metrics
        self._drain_rate = drain_rate
        self._clock = clock
        self._requeued = 0

    async def send(self, call: Call, outgoing: Outgoing) -> Answer:
        """The first answer that is not an engine's own 503.

        Raises:
            ApiError: 503 no engine is up, 429 all are full or kept refusing, 502 the engine
                broke off a request that must not be repeated, 504 it was silent too long.
        """
        attempts = _Attempts(self._clock.now_s() + self._settings.queue_ttl_s)
        while True:
            engine = self._pool.choose(outgoing.model, self._clock.now_s(), attempts.tried())
            if isinstance(engine, Unavailable):
                holding = self._holding(engine, call, outgoing, attempts)
                if holding is None:
                    await self._wait_or_refuse(engine, outgoing, attempts)
                    continue
                engine = holding
            if engine.pump is None or call.features is None:
                answer = await self._try(engine, call, outgoing, attempts)
            else:
                answer = await self._try_in_turn(engine, engine.pump, call, outgoing, attempts)
            if answer is not None:
                return answer

    def _holding(
        self, reason: Unavailable, call: Call, outgoing: Outgoing, attempts: _Attempts
    ) -> Engine | None:
        """Where the request can wait in a pump until its engine takes it."""
        engine = attempts.held
        if engine is None and reason is Unavailable.BUSY and call.features is not None:
            engine = self._pool.patient(outgoing.model)
        if engine is None or engine.pump is None or engine in attempts.given_up:
            return None
        return engine if engine.pump.holds(self._clock.now_s()) else None

    async def _try_in_turn(
        self, engine: Engine, pump: Pump, call: Call, outgoing: Outgoing, attempts: _Attempts
    ) -> Answer | None:
        """:meth:`_try`, once the engine's pump lets the request go."""
        assert call.features is not None
        call.engine = engine
        engine.take()
        try:
            turn = await pump.turn(
                call.features,
                call.model,
                call.max_output_tokens,
                again=attempts.held is engine,
            )
        finally:
            engine.release()
        attempts.held = engine
        if turn is None:
            attempts.unreached.add(engine)
            return None
        answer = None
        try:
            answer = await self._try(engine, call, outgoing, attempts)
        finally:
            if answer is None:
                self._came_back(engine, pump, turn, attempts)
        if answer is None:
            return None
        pump.answered(turn, streamed=answer.upstream.content_type == EVENT_STREAM)
        answer.turn = turn
        return answer

    def _came_back(self, engine: Engine, pump: Pump, turn: Turn, attempts: _Attempts) -> None:
        if engine in attempts.unreached or engine.busy_until_s > self._clock.now_s():
            pump.failed(turn)
        else:
            pump.end(turn)

    async def _try(
        self, engine: Engine, call: Call, outgoing: Outgoing, attempts: _Attempts
    ) -> Answer | None:
        engine.take()
        answer, since_s = None, self._clock.now_s()
        try:
            call.engine = engine
            hung_up = engine in attempts.hung_up
            session = self._sessions.fresh if hung_up else self._sessions.pooled
            answer = await self._ask(session, engine, call, outgoing)
        except ConnectionTimeoutError as error:
            if engine.has_answered_since(since_s - OVERLOADED_FOR_S):
                attempts.overloaded.add(engine)
            self._unreached(engine, attempts, since_s - OVERLOADED_FOR_S, error)
        except ClientConnectorError as error:
            self._unreached(engine, attempts, since_s, error)
        except SocketTimeoutError as error:
            raise _silent(engine, self._settings.read_timeout_s) from error
        except (ClientError, OSError) as error:
            if not outgoing.repeatable:
                raise engine_failed(f"engine {engine.id} broke off the request") from error
            self._hung_up(engine, attempts, since_s, error)
        finally:
            if answer is None:
                engine.release()
        return answer

    async def _ask(
        self, session: ClientSession, engine: Engine, call: Call, outgoing: Outgoing
    ) -> Answer | None:
        call.dispatched_at = perf_counter()
        headers = to_engine(outgoing.headers, call.request_id, engine.authorization)
        upstream = await session.request(
            outgoing.method,
            engine.url(outgoing.path_and_query),
            data=_payload(outgoing.body_for(engine)),
            headers=headers,
            allow_redirects=False,
        )
        if upstream.status == UNAVAILABLE:
            upstream.close()
            engine.refused(self._clock.now_s())
            self._metrics.retries.labels(engine.id, "refused").inc()
            return None
        complete = self._fits_memory(upstream)
        try:
            start = await (upstream.read() if complete else upstream.content.readany())
        except BaseException:
            upstream.close()
            raise
        engine.succeeded(self._clock.now_s())
        return Answer(engine, upstream, start, complete)

    def _fits_memory(self, upstream: ClientResponse) -> bool:
        """Short answers of known length are read whole: they can still be asked elsewhere."""
        length = upstream.content_length
        return length is not None and length <= self._settings.max_buffered_bytes

    def _unreached(
        self, engine: Engine, attempts: _Attempts, since_s: float, error: Exception
    ) -> None:
        """Nothing arrived there; without an answer since ``since_s`` the engine is down."""
        self._taken_out(engine, since_s, error)
        attempts.unreached.add(engine)
        self._metrics.retries.labels(engine.id, "unreachable").inc()

    def _hung_up(
        self, engine: Engine, attempts: _Attempts, since_s: float, error: Exception
    ) -> None:
        """The connection broke before the first byte."""
        if engine in attempts.hung_up:
            self._taken_out(engine, since_s, error)
            attempts.given_up.add(engine)
        attempts.hung_up.add(engine)
        self._metrics.retries.labels(engine.id, "hung_up").inc()

    def _taken_out(self, engine: Engine, since_s: float, error: Exception) -> None:
        was_up = engine.is_up
        engine.unreachable(since_s, self._clock.now_s())
        if was_up and not engine.is_up:
            _log.warning("engine %s is down: %s: %s", engine.id, type(error).__name__, error)

    async def _wait_or_refuse(
        self, reason: Unavailable, outgoing: Outgoing, attempts: _Attempts
    ) -> None:
        now_s = self._clock.now_s()
        is_alive = bool(attempts.overloaded) or any(e.is_up for e in attempts.unreached)
        if reason is Unavailable.DOWN and not is_alive:
            raise unavailable(
                "no engine that serves this model is up",
                self._drain_rate.retry_after_s(now_s),
                ShedReason.NO_ENGINE,
            )
        if reason is Unavailable.FULL or self._requeued >= self._settings.max_requeued:
            raise self._saturated("all engines are full", ShedReason.SATURATED)
        if now_s >= attempts.until_s:
            ttl_s = self._settings.queue_ttl_s
            raise self._saturated(f"engines kept refusing for {ttl_s:g} s", ShedReason.TTL_EXPIRED)
        # Those that answer others may have been too busy to accept this one connection.
        attempts.unreached.clear()
        attempts.overloaded.clear()
        self._requeued += 1
        try:
            await asyncio.sleep(self._pool.next_free_s(outgoing.model, now_s))
        finally:
            self._requeued -= 1

    def _saturated(self, message: str, reason: ShedReason) -> ApiError:
        return saturated(message, self._drain_rate.retry_after_s(self._clock.now_s()), reason)


def _payload(body: bytes | None) -> bytes | io.BytesIO | None:
    """A long body is written piece by piece, so that other streams go on meanwhile."""
    if body is None or len(body) <= MAX_WRITTEN_AT_ONCE:
        return body
    return io.BytesIO(body)


def _silent(engine: Engine, timeout_s: float) -> ApiError:
    return ApiError(
        504,
        f"engine {engine.id} sent nothing for {timeout_s:g} s",
        kind="server_error",
        code="engine_timeout",
    )
