"""One gateway worker: its parts put together, its routes, its start and end."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Final

import msgspec
from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector, web

import hmas
from hmas.controllers.perception.chain import Classifier, Perception
from hmas.controllers.perception.shipped import task_classifier
from hmas.controllers.prediction.base import Predictor
from hmas.controllers.prediction.length import LengthPredictor
from hmas.controllers.prediction.shipped import OFF, length_predictor
from hmas.daemon.gateway.accounting import Accounting
from hmas.daemon.gateway.admission import FIRST_ENGINE, Admission
from hmas.daemon.gateway.challenger import ChallengerFile
from hmas.daemon.gateway.costs import GatewayCosts
from hmas.daemon.gateway.dispatch import NOT_ADDED, Dispatcher, Sessions
from hmas.daemon.gateway.engines import Engine, EnginePool
from hmas.daemon.gateway.errors import method_not_allowed, not_found
from hmas.daemon.gateway.health import HealthChecks
from hmas.daemon.gateway.http_server import error_response
from hmas.daemon.gateway.keys import KeyRing
from hmas.daemon.gateway.learning import Learning
from hmas.daemon.gateway.limits import Cells, CountTable, DrainRate
from hmas.daemon.gateway.link import GatewayLink, LinkEndpoints
from hmas.daemon.gateway.masking import LearnedStage
from hmas.daemon.gateway.metrics import GatewayMetrics
from hmas.daemon.gateway.proxy import PREFIX, Proxy, ProxyParts
from hmas.daemon.gateway.pump.station import PumpStation, pump_links
from hmas.daemon.gateway.settings import GatewaySettings
from hmas.daemon.gateway.tagging import Claimed, Tagger
from hmas.daemon.tasks import Tasks
from hmas.engine.clock import Clock, SystemClock
from hmas.engine.directive import StepModel
from hmas.engine.link.outbox import Outbox

ENGINE_KEEPALIVE_S: Final = 4.0
"""Below uvicorn's five seconds, so that an idle connection is closed by this side first."""

Handler = Callable[[], web.Response]

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Worker:
    """What distinguishes one worker process from the others of the same gateway.

    ``cells`` is the shared memory of the in-flight counts, ``metrics_dir`` that of the metrics.
    """

    index: int = 0
    cells: Cells | None = None
    metrics_dir: Path | None = None


ALONE: Final = Worker()


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What tests replace: time, chance, the learned classifier, whether that must be punctual.

    ``timer`` measures perception, in seconds.
    """

    clock: Clock = field(default_factory=SystemClock)
    timer: Callable[[], float] = perf_counter
    rng: random.Random = field(default_factory=random.Random)
    classifier: Classifier | None = None
    is_punctual: bool = True


def count_columns(settings: GatewaySettings) -> int:
    """Counters that the workers share: the total, every engine, every tenant."""
    tenants = len(KeyRing(settings.keys, settings.anonymous).tenants)
    return FIRST_ENGINE + len(settings.engines) + tenants


class GatewayApp:
    """One worker's parts; ``handle`` answers while inside ``running()``.

    Without ``runtime_dir`` there is no control link.
    """

    def __init__(
        self,
        settings: GatewaySettings,
        runtime_dir: Path | None = None,
        worker: Worker = ALONE,
        surroundings: Surroundings | None = None,
    ) -> None:
        self.settings = settings
        self._runtime_dir = runtime_dir
        self._worker = worker
        self._around = surroundings or Surroundings()
        self.metrics = GatewayMetrics(worker.metrics_dir)
        self.keys = KeyRing(settings.keys, settings.anonymous)
        counts = CountTable(
            count_columns(settings),
            rows=settings.workers,
            row=worker.index,
            cells=worker.cells,
        )
        self.pool = EnginePool(
            Engine(target, counts, FIRST_ENGINE + number)
            for number, target in enumerate(settings.engines)
        )
        self.drain_rate = DrainRate(settings.retry_after_cap_s, self._around.rng)
        self.admission = Admission(
            counts,
            len(settings.engines),
            settings.max_in_flight,
            self.drain_rate,
            self._around.clock,
        )
        self.learned = LearnedStage(
            self._around.classifier or task_classifier(settings.classifier),
            settings,
            is_punctual=self._around.is_punctual,
        )
        self._link: GatewayLink | None = None
        self.costs = GatewayCosts(settings, self.pool, self._step_model, self._around.clock)
        lengths = length_predictor(settings.length_model, settings.length_challenger)
        self._lengths = lengths if isinstance(lengths, LengthPredictor) else None
        self.learning = Learning(self.metrics, self._lengths, self.learned.scores)
        self.perception = self._perception(lengths)
        self._proxy: Proxy | None = None
        self._local = self._routes()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Connections, health checks and the control link live inside this context."""
        link = self._link = self._connected()
        tasks = Tasks()
        async with self._session() as session, self._session(force_close=True) as fresh:
            self._proxy = Proxy(self._parts(Sessions(session, fresh), link))
            health = HealthChecks(
                self.pool,
                session,
                settings=self.settings,
                metrics=self.metrics,
                clock=self._around.clock,
                after_round=lambda: self._sync_metrics(link),
            )
            await health.check_all()
            await asyncio.to_thread(self.perception.rehearse)
            await self.learned.rehearse()
            tasks.start(self.learned.run(), name="perception's cost")
            self._install_pumps(tasks)
            if self._lengths is not None and self.settings.length_challenger != OFF:
                file = ChallengerFile(self.settings.length_challenger, self._lengths)
                tasks.start(file.run(), name="length challenger")
            tasks.start(health.run(), name="health checks")
            if link is not None:
                tasks.start(link.run(), name="control link")
            try:
                yield
            finally:
                await tasks.close()
                if link is not None:
                    link.close()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Any request to any path."""
        path = request.path
        if path.startswith(PREFIX) and self._proxy is not None:
            return await self._proxy.handle(request)
        local = self._local.get(path)
        if local is None:
            return error_response(not_found(path))
        if request.method not in {"GET", "HEAD"}:
            return error_response(method_not_allowed(request.method, path, "GET"))
        return local()

    def _routes(self) -> dict[str, Handler]:
        """What the gateway answers itself."""
        return {
            "/livez": self._livez,
            "/readyz": self._readyz,
            "/health": self._readyz,
            "/metrics": self._metrics,
            "/version": self._version,
        }

    def _perception(self, lengths: Predictor) -> Perception:
        return Perception(
            self.costs.predictor(lengths),
            classifier=self.learned.classifier,
            budget_s=self.settings.tagging_budget_ms / 1000,
            timer=self._around.timer,
        )

    def _install_pumps(self, tasks: Tasks) -> None:
        if self._runtime_dir is None:
            return
        worker = self._worker.index
        links = pump_links(self.settings, self._runtime_dir, worker)
        station = PumpStation(self.settings, links, self.pool, self._around.clock, worker)
        station.start(tasks)

    def _step_model(self, engine_id: str) -> StepModel | None:
        return None if self._link is None else self._link.step_model(engine_id)

    def _connected(self) -> GatewayLink | None:
        if self._runtime_dir is None:
            return None
        settings, clock = self.settings, self._around.clock
        source = f"{settings.gateway_id}-w{self._worker.index}"
        outbox = Outbox(
            source,
            uuid.uuid4().hex,
            clock,
            kind="gateway",
            capacity=settings.max_buffered_events,
        )
        endpoints = LinkEndpoints.of(settings, self._runtime_dir)
        return GatewayLink(endpoints, outbox, clock, settings.events_flush_s)

    def _session(self, *, force_close: bool = False) -> ClientSession:
        settings = self.settings
        connector = (
            TCPConnector(limit=0, force_close=True)
            if force_close
            else TCPConnector(limit=0, keepalive_timeout=ENGINE_KEEPALIVE_S)
        )
        return ClientSession(
            connector=connector,
            timeout=ClientTimeout(
                total=None,
                sock_connect=settings.connect_timeout_s,
                sock_read=settings.read_timeout_s,
            ),
            auto_decompress=False,
            skip_auto_headers=NOT_ADDED,
            cookie_jar=DummyCookieJar(),
            read_bufsize=2**18,
        )

    def _parts(self, sessions: Sessions, link: GatewayLink | None) -> ProxyParts:
        settings, clock = self.settings, self._around.clock
        dispatcher = Dispatcher(
            self.pool,
            sessions,
            settings=settings,
            metrics=self.metrics,
            drain_rate=self.drain_rate,
            clock=clock,
        )
        accounting = Accounting(
            self.perception,
            self.metrics,
            link,
            clock,
            costs=self.costs,
            scores=self.learning.scores,
            log_requests=settings.access_log,
        )
        return ProxyParts(
            settings=settings,
            keys=self.keys,
            admission=self.admission,
            tagger=Tagger(self.perception, self._around.timer, self._claimed()),
            pool=self.pool,
            dispatcher=dispatcher,
            accounting=accounting,
            metrics=self.metrics,
            link=link,
            clock=clock,
        )

    def _claimed(self) -> Claimed | None:
        """Where a learned classifier is, claims are what it is scored on."""
        return None if self.learned.punctual is None else self.learned.claimed

    def _sync_metrics(self, link: GatewayLink | None) -> None:
        """What is counted elsewhere on the hot path becomes metrics here."""
        metrics, perception = self.metrics, self.perception
        for engine in self.pool.engines:
            metrics.in_flight.labels(engine.id).set(engine.own_in_flight)
            if engine.pump is not None:
                metrics.pump_waiting.labels(engine.id).set(engine.pump.waiting)
                metrics.sync({metrics.pump_faults.labels(engine.id): engine.pump.faults})
        self.costs.sync(metrics)
        by_source = {metrics.sources.labels(name): n for name, n in perception.counts.items()}
        metrics.sync(
            by_source
            | {
                metrics.overruns: perception.overruns,
                metrics.classifier_errors: perception.classifier_errors,
                metrics.classifier_skipped: self.learned.skipped,
                metrics.events_dropped: link.dropped if link is not None else 0,
            }
        )
        self.learning.sync()

    def _livez(self) -> web.Response:
        return _json({"status": "alive"})

    def _readyz(self) -> web.Response:
        draining = self.admission.is_draining
        ready = self.pool.any_up() and not draining
        return _json(
            {
                "status": "ready" if ready else "draining" if draining else "no engine is up",
                "engines": {engine.id: engine.is_up for engine in self.pool.engines},
                "in_flight": self.admission.inside,
            },
            200 if ready else 503,
        )

    def _metrics(self) -> web.Response:
        return web.Response(
            body=self.metrics.scrape(),
            headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"},
        )

    def _version(self) -> web.Response:
        return _json({"version": hmas.__version__})


def _json(content: dict[str, object], status: int = 200) -> web.Response:
    return web.Response(body=_encode(content), status=status, content_type="application/json")
