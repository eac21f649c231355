"""Active health checks, beside the data path: is each engine up, and what does it serve."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

import msgspec
from aiohttp import ClientError, ClientSession, ClientTimeout

from hmas.daemon.gateway.engines import Engine, EnginePool
from hmas.daemon.gateway.metrics import GatewayMetrics
from hmas.daemon.gateway.settings import GatewaySettings
from hmas.engine.clock import Clock

SERVER_ERROR: Final = 500
MODELS_EVERY_ROUNDS: Final = 15

_log = logging.getLogger("hmas.gateway.health")


class _Card(msgspec.Struct, frozen=True):
    id: str


class _ModelList(msgspec.Struct, frozen=True):
    data: list[msgspec.Raw]


_decode_list = msgspec.json.Decoder(_ModelList).decode
_decode_card = msgspec.json.Decoder(_Card).decode


class HealthChecks:
    """Asks every engine's ``/health`` each interval, and its ``/v1/models`` now and then.

    Any answer below 500 counts as alive: not every OpenAI server has ``/health``.
    ``after_round`` is the gateway's own regular housekeeping; ``rounds`` counts completed
    rounds, ``failures`` those that could not be completed.
    """

    def __init__(
        self,
        pool: EnginePool,
        session: ClientSession,
        *,
        settings: GatewaySettings,
        metrics: GatewayMetrics,
        clock: Clock,
        after_round: Callable[[], None],
    ) -> None:
        self._pool = pool
        self._session = session
        self._interval_s = settings.health_interval_s
        self._timeout = ClientTimeout(total=settings.health_timeout_s)
        self._metrics = metrics
        self._clock = clock
        self._after_round = after_round
        self.rounds = 0
        self.failures = 0

    async def run(self) -> None:
        """Check every interval until cancelled."""
        while True:
            await asyncio.sleep(self._interval_s)
            try:
                await self.check_all()
            except Exception:  # noqa: BLE001  the edge of this loop: traffic goes on without checks
                self.failures += 1
                _log.exception("a round of health checks failed")

    async def check_all(self) -> None:
        async with asyncio.TaskGroup() as group:
            for engine in self._pool.engines:
                group.create_task(self._check(engine))
        self.rounds += 1
        self._after_round()

    async def _check(self, engine: Engine) -> None:
        was_up, since_s = engine.is_up, self._clock.now_s()
        if await self._answers(engine):
            engine.succeeded(self._clock.now_s())
            if not was_up or self.rounds % MODELS_EVERY_ROUNDS == 0 or not engine.models:
                await self._ask_models(engine)
        else:
            engine.suspected(since_s)
        if engine.is_up != was_up:
            _log.warning("engine %s is %s", engine.id, "up again" if engine.is_up else "down")
        self._metrics.engine_up.labels(engine.id).set(engine.is_up)

    async def _answers(self, engine: Engine) -> bool:
        try:
            async with self._session.get(engine.url("/health"), timeout=self._timeout) as answer:
                return answer.status < SERVER_ERROR
        except (ClientError, TimeoutError, OSError):
            return False

    async def _ask_models(self, engine: Engine) -> None:
        """Keep the engine's own model cards; learn its models where none are configured."""
        headers = {} if engine.authorization is None else {"Authorization": engine.authorization}
        try:
            async with self._session.get(
                engine.url("/v1/models"), timeout=self._timeout, headers=headers
            ) as answer:
                cards = _cards(await answer.read()) if answer.ok else {}
        except (ClientError, TimeoutError, OSError, msgspec.MsgspecError) as error:
            _log.info("engine %s does not list its models: %s", engine.id, error)
            return
        if cards:
            engine.model_cards = cards
            if not engine.target.models:
                engine.models = frozenset(cards)


def _cards(payload: bytes) -> dict[str, msgspec.Raw]:
    return {_decode_card(card).id: card for card in _decode_list(payload).data}
