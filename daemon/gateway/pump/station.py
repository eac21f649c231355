"""All pumps of one gateway worker: built from the settings, run beside the data path."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import hmas
from hmas.daemon.gateway.engines import Engine, EnginePool
from hmas.daemon.gateway.pump.link import PumpLink
from hmas.daemon.gateway.pump.place import limits_of, link_of
from hmas.daemon.gateway.pump.pump import Pump
from hmas.daemon.gateway.settings import GatewaySettings
from hmas.daemon.tasks import Tasks
from hmas.engine.clock import Clock
from hmas.engine.core import Identity
from hmas.engine.link.config import LinkConfig

KIND: Final = "pump"


def pump_links(settings: GatewaySettings, directory: Path, worker: int) -> dict[str, LinkConfig]:
    """By engine id, of the engines that have a pump.

    Raises:
        LinkConfigError: an id is no file name, or an address is wrong.
        CurveError: keys are missing.
    """
    return {
        target.engine_id: link_of(target, directory, worker, settings.workers)
        for target in settings.engines
        if target.pump
    }


class PumpStation:
    """Gives each engine with ``pump`` in its settings its pump; without any it does nothing."""

    def __init__(
        self,
        settings: GatewaySettings,
        links: dict[str, LinkConfig],
        pool: EnginePool,
        clock: Clock,
        worker: int,
    ) -> None:
        self._settings = settings
        self._pool = pool
        self._clock = clock
        self._worker = worker
        self._links: dict[Pump, PumpLink] = {}
        for engine in pool.engines:
            if engine.id in links:
                self._equip(engine, links[engine.id])

    def start(self, tasks: Tasks) -> None:
        for pump, link in self._links.items():
            tasks.start(link.run(pump), name=f"pump of {link.config.engine_id}")

    def pumps(self) -> Iterable[Pump]:
        return self._links

    def _equip(self, engine: Engine, config: LinkConfig) -> None:
        boot_id, clock = uuid.uuid4().hex, self._clock
        link = PumpLink(config, clock, boot_id)

        def elsewhere(model: str) -> bool:
            return isinstance(self._pool.choose(model, clock.now_s(), (engine,)), Engine)

        engine.pump = Pump(
            Identity(config.engine_id, boot_id, KIND, hmas.__version__, _model_of(engine)),
            limits_of(engine.target, self._worker, self._settings.workers),
            engine,
            clock,
            publish=link.publish,
            elsewhere=elsewhere,
            outage_limit_s=self._settings.queue_ttl_s,
        )
        self._links[engine.pump] = link


def _model_of(engine: Engine) -> str:
    """The first that it serves; empty while it has not said."""
    return min(engine.models, default="")
