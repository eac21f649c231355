"""``run_gateway``: one worker in this process, or several that share the port."""

from __future__ import annotations

import logging
import multiprocessing
import os
import shutil
import signal
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import inf
from multiprocessing.context import SpawnProcess
from multiprocessing.sharedctypes import RawArray
from multiprocessing.synchronize import Semaphore
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Final

from hmas.daemon.gateway.app import ALONE, GatewayApp, Worker, count_columns
from hmas.daemon.gateway.link import LinkEndpoints
from hmas.daemon.gateway.pump.station import pump_links
from hmas.daemon.gateway.server import GatewayStartError, Watcher, listen, run_worker
from hmas.daemon.gateway.settings import GatewaySettings
from hmas.engine.link.config import LinkConfigError
from hmas.engine.link.curve import CurveError

METRICS_VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"
"""prometheus_client reads it when first imported: it must be there before a worker starts."""
POLL_S: Final = 0.1
RESTART_S: Final = 1.0
AFTER_DRAIN_S: Final = 5.0

_log = logging.getLogger("hmas.gateway")


def run_gateway(
    settings: GatewaySettings,
    runtime_dir: Path | None,
    *,
    watcher: Watcher,
    prepare_worker: Callable[[], None] | None = None,
) -> int:
    """Run the gateway until SIGTERM or SIGINT; returns the exit code.

    ``runtime_dir`` holds the sockets of the control link; None runs without one. ``watcher``
    hears ``ready`` once every worker answers, ``alive`` while the event loop turns (with several
    workers: the loop that restarts them), ``stopping`` before the drain. With several workers,
    each one, being a fresh process, first calls ``prepare_worker`` (logging, say), which must
    be picklable.

    Raises:
        GatewayStartError: the address cannot be listened on, or CURVE keys are not usable.
    """
    _check_link(settings, runtime_dir)
    if settings.workers == 1:
        build = partial(GatewayApp, settings, runtime_dir, ALONE)
        return run_worker(build, settings, watcher)
    return _Supervisor(settings, runtime_dir, prepare_worker).run(watcher)


def _check_link(settings: GatewaySettings, runtime_dir: Path | None) -> None:
    """Fail here, once, instead of in every worker."""
    if runtime_dir is None:
        return
    try:
        LinkEndpoints.of(settings, runtime_dir)
    except CurveError as error:
        raise GatewayStartError(f"gateway.curve_dir: {error}") from error
    try:
        pump_links(settings, runtime_dir, 0)
    except (LinkConfigError, CurveError) as error:
        raise GatewayStartError(f"engines: pump: {error}") from error


class _Releasing:
    """The first process as a worker's watcher: it counts who is ready, and sees who died."""

    watchdog_s: float | None = None

    def __init__(self, ready: Semaphore) -> None:
        self._ready = ready

    def ready(self, status: str) -> None:
        self._ready.release()

    def alive(self) -> None:
        """Nobody asks."""

    def stopping(self) -> None:
        """The first process told it to."""


class _Beat:
    """Says ``alive`` as often as the watcher wants, however often it is asked to."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._last = -inf

    def turn(self) -> None:
        interval_s, now = self._watcher.watchdog_s, monotonic()
        if interval_s is not None and now - self._last >= interval_s:
            self._last = now
            self._watcher.alive()


@dataclass(slots=True)
class _Child:
    process: SpawnProcess
    started_at: float


class _Supervisor:
    """Starts the workers, restarts one that dies, stops them all."""

    def __init__(
        self,
        settings: GatewaySettings,
        runtime_dir: Path | None,
        prepare_worker: Callable[[], None] | None,
    ) -> None:
        if settings.port == 0:
            # Every worker must bind the same port, so it is chosen here.
            chosen = _free_port(settings)
            settings = settings.model_copy(update={"port": chosen})
        self._settings = settings
        self._runtime_dir = runtime_dir
        self._context = multiprocessing.get_context("spawn")
        self._prepare_worker = prepare_worker
        self._ready = self._context.Semaphore(0)
        self._cells = RawArray("q", settings.workers * count_columns(settings))
        self._stop = Event()

    def run(self, watcher: Watcher) -> int:
        listen(self._settings.host, self._settings.port, shared=True).close()
        metrics_dir = Path(tempfile.mkdtemp(prefix="hmas-metrics-"))
        os.environ[METRICS_VARIABLE] = str(metrics_dir)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        children = {
            index: self._start(index, metrics_dir) for index in range(self._settings.workers)
        }
        try:
            waiting_for = self._settings.workers
            beat = _Beat(watcher)
            while not self._stop.wait(POLL_S):
                beat.turn()
                self._restart_dead(children, metrics_dir)
                while waiting_for and self._ready.acquire(block=False):
                    waiting_for -= 1
                    if waiting_for == 0:
                        watcher.ready("serving")
        finally:
            watcher.stopping()
            self._end(children)
            shutil.rmtree(metrics_dir, ignore_errors=True)
        return 0

    def _on_signal(self, *_: object) -> None:
        self._stop.set()

    def _start(self, index: int, metrics_dir: Path) -> _Child:
        process = self._context.Process(
            target=_worker_main,
            args=(
                self._settings,
                self._runtime_dir,
                Worker(index=index, cells=self._cells, metrics_dir=metrics_dir),
                self._ready,
                self._prepare_worker,
            ),
            name=f"hmas-gateway-w{index}",
        )
        process.start()
        return _Child(process, monotonic())

    def _restart_dead(self, children: dict[int, _Child], metrics_dir: Path) -> None:
        from prometheus_client.multiprocess import mark_process_dead

        for index, child in children.items():
            too_soon = monotonic() - child.started_at < RESTART_S
            if child.process.is_alive() or too_soon:
                continue
            _log.error("worker %d ended with code %s", index, child.process.exitcode)
            mark_process_dead(child.process.pid, str(metrics_dir))  # type: ignore[no-untyped-call]
            children[index] = self._start(index, metrics_dir)

    def _end(self, children: dict[int, _Child]) -> None:
        for child in children.values():
            child.process.terminate()
        until = monotonic() + self._settings.drain_timeout_s + AFTER_DRAIN_S
        for child in children.values():
            child.process.join(max(0.0, until - monotonic()))
            if child.process.is_alive():
                child.process.kill()
                child.process.join()


def _free_port(settings: GatewaySettings) -> int:
    with listen(settings.host, 0, shared=True) as probe:
        port: int = probe.getsockname()[1]
        return port


def _worker_main(
    settings: GatewaySettings,
    runtime_dir: Path | None,
    worker: Worker,
    ready: Semaphore,
    prepare: Callable[[], None] | None,
) -> None:
    if prepare is not None:
        prepare()
    build = partial(GatewayApp, settings, runtime_dir, worker)
    raise SystemExit(run_worker(build, settings, _Releasing(ready)))
