"""The daemon, put together: what starts in which order, and how it ends."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial

from hmas.daemon.admin.app import create_app
from hmas.daemon.admin.auth import TokenFileError, ensure_token_file
from hmas.daemon.admin.server import AdminServer
from hmas.daemon.config.problems import Problem, SettingsError
from hmas.daemon.control.advisers import Advisers
from hmas.daemon.control.discovery import Discovery
from hmas.daemon.control.engines import Fleet
from hmas.daemon.control.executor import BYPASSING, Executor
from hmas.daemon.control.health import Health, is_late
from hmas.daemon.control.late_store import LateStore
from hmas.daemon.control.llm import (
    advisers_for,
    close_advisers,
    llm_health,
    llm_of,
    prompt_record,
)
from hmas.daemon.control.loop import ControlLoop
from hmas.daemon.control.overrides import OverrideBook
from hmas.daemon.control.port import DaemonPort
from hmas.daemon.control.reload import changed_keys, needs_restart
from hmas.daemon.control.resume import resumed_overrides, resumed_state
from hmas.daemon.control.router import EventRouter
from hmas.daemon.control.runner import Loop, Runner
from hmas.daemon.control.sockets import DaemonSockets
from hmas.daemon.settings import Settings
from hmas.daemon.supervise.notify import Notifier
from hmas.daemon.tasks import Tasks
from hmas.engine.clock import Clock
from hmas.engine.events import ControlNotice, EngineNotice
from hmas.storage.connect import open_store
from hmas.storage.errors import StorageError, StoreUnavailableError
from hmas.storage.retention import RetentionAges, apply_retention
from hmas.storage.writer import RecordWriter, WriterConfig

log = logging.getLogger(__name__)

NOTICE_S = 1.0
META_CHECK_S = 1.0
"""How often is looked whether an engine's slow loop is due."""
Reload = Callable[[], Settings]


class Daemon:
    """One process: loops, links, records, admin API. ``run`` returns after ``stop``."""

    def __init__(self, settings: Settings, clock: Clock, notifier: Notifier) -> None:
        self.settings = settings
        self._clock = clock
        self._notifier = notifier
        self._stopping = asyncio.Event()
        self._tasks = Tasks()
        self._fleet = Fleet()
        self._reloads: Counter[str] = Counter()

    def stop(self) -> None:
        """Finish what runs, write what waits, and let ``run`` return."""
        self._stopping.set()

    def reload(self, read: Reload) -> None:
        """Read the settings again; take up what can change now, or keep all and say why."""
        self._notifier.reloading()
        try:
            settings = read()
            advisers = advisers_for(settings.meta, settings.control, self._clock)
        except SettingsError as error:
            self._reloads["refused"] += 1
            log.error("settings not reloaded, the old ones stay: %s", error)
            self._executor.audit(actor="operator", action="reload", result=f"refused: {error}")
        else:
            self._take_up(settings, advisers)
        self._notifier.ready("controlling")

    def _take_up(self, settings: Settings, advisers: Advisers) -> None:
        changed = changed_keys(self.settings, settings)
        waiting = needs_restart(changed)
        self.settings = settings
        self._reloads["done"] += 1
        self._executor.configure(settings.daemon.log_every_s, settings.daemon.view_every_s)
        self._discovery.reconfigure(settings.control)
        if {"meta", "control"} & set(changed):
            replaced, self._loop.advisers = self._loop.advisers, advisers
            self._tasks.start(close_advisers(replaced), name="close the replaced LLM")
            self._note_prompt()
        for name, interval_s in intervals(settings).items():
            self._runner.change_interval(name, interval_s)
        said = f"changed: {', '.join(changed) or 'nothing'}"
        if waiting:
            said += f"; after a restart: {', '.join(waiting)}"
        log.info("settings reloaded, %s", said)
        self._executor.audit(actor="operator", action="reload", result=said)

    async def run(self) -> None:
        """Start everything, serve until stopped, end in order.

        Raises:
            SettingsError: an address in use, a missing key or token, a database that can never
                be used. One that only does not answer is waited for while the loops run.
        """
        async with AsyncExitStack() as ending:
            store = opened(self.settings)
            ending.callback(store.close)
            writer = self._writer(store)
            ending.push_async_callback(
                asyncio.to_thread, writer.close, self.settings.storage.close_timeout_s
            )
            await self._start(ending, store, writer)
            await self._stopping.wait()
            self._notifier.stopping()
            await self._loop.keep_resume_state(self._clock.now_s())
        log.info("stopped")

    def _writer(self, store: LateStore) -> RecordWriter:
        config = WriterConfig(capacity=self.settings.storage.capacity)
        return RecordWriter(store, self._clock, config)

    async def _start(self, ending: AsyncExitStack, store: LateStore, writer: RecordWriter) -> None:
        settings, clock = self.settings, self._clock
        router = EventRouter(
            self._fleet, clock, writer, request_sample=settings.daemon.request_sample
        )
        self._sockets = DaemonSockets(settings.daemon, settings.runtime_dir, router.from_gateway)
        ending.callback(self._sockets.close)
        self._discovery = self._make_discovery(router, store)
        ending.callback(self._discovery.close)
        ending.push_async_callback(self._tasks.close)
        self._tasks.start(self._sockets.gateways.run(), name="events of gateways")
        self._executor = Executor(
            writer,
            clock,
            self._tasks,
            log_every_s=settings.daemon.log_every_s,
            view_every_s=settings.daemon.view_every_s,
        )
        book = await resumed_overrides(store.open, clock.now_s())
        self._loop = ControlLoop(
            self._fleet,
            self._executor,
            book,
            clock=clock,
            tasks=self._tasks,
            advisers=advisers_for(settings.meta, settings.control, clock),
        )
        ending.push_async_callback(lambda: close_advisers(self._loop.advisers))
        self._note_prompt()
        self._runner = Runner(self._loops(store))
        ending.callback(self._runner.stop)
        url = await self._serve_admin(ending, store, writer, book)
        self._runner.start()
        self._watch()
        self._executor.audit(actor="daemon", action="start", inputs={"admin": url})
        log.info("admin API at %s, sockets in %s", url or "(off)", settings.runtime_dir)
        self._notifier.ready(f"controlling; admin API at {url}")

    def _note_prompt(self) -> None:
        if (adviser := llm_of(self._loop.advisers)) is not None:
            self._executor.record(prompt_record(adviser.prompt, self._clock.now_s()))

    def _make_discovery(self, router: EventRouter, store: LateStore) -> Discovery:
        settings = self.settings
        workers = settings.gateway.workers
        links = [x for e in settings.engines for x in e.links(settings.runtime_dir, workers)]
        return Discovery(
            self._fleet,
            router,
            self._sockets.context,
            clock=self._clock,
            tasks=self._tasks,
            resume=partial(resumed_state, store.open),
            control=settings.control,
            configured=links,
            directory=settings.runtime_dir if settings.daemon.discover else None,
            timeout_s=settings.daemon.engine_timeout_s,
        )

    def _loops(self, store: LateStore) -> list[Loop]:
        async def retention(now_s: float) -> None:
            await asyncio.to_thread(self._retain, store, now_s)

        bodies = {
            "discovery": self._discovery.look,
            "cycle": self._loop.cycle,
            "meta": self._loop.meta,
            "notice": self._notice,
            "resume": self._loop.keep_resume_state,
            "retention": retention,
        }
        return [
            Loop(
                name,
                interval_s,
                bodies[name],
                self._clock,
                first_s=0.0 if name == "discovery" else None,
            )
            for name, interval_s in intervals(self.settings).items()
        ]

    def _retain(self, store: LateStore, now_s: float) -> None:
        ages = RetentionAges(**self.settings.storage.retention.model_dump())
        try:
            report = apply_retention(store.open(), ages, now_s)
        except StorageError as error:
            log.warning("retention: %s", error)
            return
        log.info("retention: %s", report.sentence)

    async def _notice(self, now_s: float) -> None:
        engines = [
            EngineNotice(
                engine_id=engine.engine_id,
                topology=engine.last_cycle.topology,
                bypass=engine.last_cycle.owner in BYPASSING,
                directive_version=engine.active_version or 0,
                step_model=controller.step_model,
            )
            for engine, controller in self._fleet.controlled()
            if engine.last_cycle is not None and engine.reachable
        ]
        await self._sockets.notices.send(ControlNotice(at_s=now_s, engines=engines))

    async def _serve_admin(
        self, ending: AsyncExitStack, store: LateStore, writer: RecordWriter, book: OverrideBook
    ) -> str:
        settings = self.settings
        if not settings.admin.enabled:
            return ""
        health = Health(
            self._fleet,
            self._sockets.gateways,
            writer,
            clock=self._clock,
            storage_kind=settings.storage_url.partition(":")[0],
            loops=lambda: [loop.stats for loop in self._runner.loops.values()],
            llm=lambda: llm_health(self.settings.meta, self._loop.advisers),
            refusals=self._executor.refusals,
            reloads=self._reloads,
        )
        port = DaemonPort(
            self._fleet,
            book,
            self._executor,
            health,
            store=store.open,
            flush=writer.flush,
            clock=self._clock,
            meta_mode=settings.meta.primary,
            window_s=settings.control.views.latency_window_s,
        )
        server, url = self._bound_server(port)
        serving = self._tasks.start(server.run(), name="admin API")
        ending.push_async_callback(asyncio.wait, [serving], timeout=6.0)
        ending.callback(server.stop)
        return url

    def _bound_server(self, port: DaemonPort) -> tuple[AdminServer, str]:
        settings = self.settings
        admin = settings.admin_settings()
        try:
            if not settings.admin.tokens:
                ensure_token_file(settings.token_file)
            server = AdminServer(create_app(port, admin), admin)
        except (TokenFileError, OSError) as error:
            raise SettingsError([Problem("admin.tokens", "", str(error))]) from error
        try:
            return server, server.start()
        except OSError as error:
            detail = f"cannot listen on {admin.host}:{admin.port}: {error.strerror or error}"
            raise SettingsError([Problem("admin.port", "", detail)]) from error

    def _watch(self) -> None:
        """Tell systemd that we live, as long as the fast loop turns."""
        interval_s = self._notifier.watchdog_s
        if interval_s is not None:
            self._tasks.start(self._keep_alive(interval_s), name="watchdog")

    async def _keep_alive(self, interval_s: float) -> None:
        while True:
            if not is_late(self._runner.loops["cycle"].stats, self._clock.now_s()):
                self._notifier.alive()
            await asyncio.sleep(interval_s)


def intervals(settings: Settings) -> dict[str, float]:
    """Seconds between two runs of each loop."""
    return {
        "discovery": settings.daemon.discover_s,
        "cycle": settings.control.cycle_s,
        "meta": min(META_CHECK_S, settings.control.meta_s),
        "notice": NOTICE_S,
        "resume": settings.daemon.resume_every_s,
        "retention": settings.daemon.retention_s,
    }


def opened(settings: Settings) -> LateStore:
    """The store, opened if the database answers.

    Raises:
        SettingsError: it never will (a wrong URL, tables of a newer version).
    """
    store = LateStore(partial(open_store, settings.storage_url))
    try:
        store.open()
    except StoreUnavailableError as error:
        log.error("running without a database until it answers: %s", error)
    except StorageError as error:
        raise SettingsError([Problem("storage.url", "", str(error))]) from error
    return store
