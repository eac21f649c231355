"""One measured run of the demo: put the engine under one control, replay, collect."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from hmas.bench.live import LiveReport, OnProgress, replay_live
from hmas.bench.slo import WorkloadRequest
from hmas.bench.speed import stretched
from hmas.bench.stream import LiveTarget
from hmas.daemon.cli.client import AdminClient
from hmas.daemon.wire import (
    AckState,
    BypassRequest,
    EngineStatus,
    FleetStatus,
    GuardEventOut,
    OverrideChange,
    OverrideKind,
    Verdict,
    ViewSeries,
)
from hmas.engine.clock import Clock

POLL_S = 0.2
VIEW_MARGIN_S = 5.0
"""Switches are listed from the first view on, so ask for views from before the first switch."""


class DemoControl(StrEnum):
    """fcfs: the operator's kill switch, plain FCFS with unbounded controls; hmas: the loop."""

    FCFS = "plain FCFS"
    HMAS = "H-MAS"


class DemoError(RuntimeError):
    """The demo cannot go on; the message says what did not happen."""


@dataclass(frozen=True, slots=True)
class DemoResult:
    """One run; swaps (the take-over included) and rollbacks as the daemon recorded them."""

    control: DemoControl
    live: LiveReport
    swaps: int
    rollbacks: int
    topologies: tuple[str, ...]

    def stretched(self, speed: float) -> DemoResult:
        """In the time of the profile's hardware."""
        return replace(self, live=stretched(self.live, speed))


@dataclass(frozen=True, slots=True)
class DemoRunner:
    """Runs the same requests under different controls against one running system.

    ``settle_s`` lets the last directive reach the engine and old requests leave the views.
    """

    admin: AdminClient
    target: LiveTarget
    engine_id: str
    clock: Clock
    settle_s: float = 2.0
    ready_timeout_s: float = 30.0

    async def run(
        self,
        control: DemoControl,
        requests: Sequence[WorkloadRequest],
        on_progress: OnProgress | None = None,
    ) -> DemoResult:
        """Put the engine under ``control``, which stays in force, and replay.

        Raises:
            DemoError: the engine does not take the control over.
        """
        since_s = self.clock.now_s()
        await asyncio.to_thread(self._impose, control)
        bypass = control is DemoControl.FCFS
        await self.wait_for(lambda engine: engine.bypass is bypass, f"switch to {control}")
        await asyncio.sleep(self.settle_s)
        live = await replay_live(requests, self.target, on_progress)
        return await asyncio.to_thread(self._collect, control, live, since_s)

    async def wait_for(self, reached: Callable[[EngineStatus], bool], what: str) -> EngineStatus:
        """The engine's status once ``reached`` and acknowledged. Raises :class:`DemoError`."""
        deadline_s = time.monotonic() + self.ready_timeout_s
        while time.monotonic() < deadline_s:
            engine = await asyncio.to_thread(self._engine)
            if engine is not None and _settled(engine) and reached(engine):
                return engine
            await asyncio.sleep(POLL_S)
        raise DemoError(f"{self.engine_id} did not {what} within {self.ready_timeout_s:g} s")

    def _impose(self, control: DemoControl) -> None:
        fleet = self.admin.get("/status", FleetStatus)
        held = [override for override in fleet.overrides if override.kind is OverrideKind.BYPASS]
        if control is DemoControl.FCFS and not held:
            body = BypassRequest(reason="demo: the baseline is plain FCFS")
            self.admin.post("/bypass", body, OverrideChange)
        elif control is DemoControl.HMAS:
            for override in held:
                self.admin.delete(f"/bypass/{override.id}", OverrideChange)

    def _engine(self) -> EngineStatus | None:
        fleet = self.admin.get("/status", FleetStatus)
        return next((e for e in fleet.engines if e.engine_id == self.engine_id), None)

    def _collect(self, control: DemoControl, live: LiveReport, since_s: float) -> DemoResult:
        views = self.admin.get(
            f"/engines/{self.engine_id}/views",
            ViewSeries,
            since=since_s - VIEW_MARGIN_S,
            limit=10_000,
        )
        guards = self.admin.get("/guards", list[GuardEventOut], since_s=since_s, limit=1000)
        switches = [switch for switch in views.switches if switch.at_s >= since_s]
        topologies = [p.topology for p in views.short if p.topology and p.at_s >= since_s]
        return DemoResult(
            control=control,
            live=live,
            swaps=sum(switch.before != switch.after for switch in switches),
            rollbacks=sum(g.guard == "rollback" and g.verdict is Verdict.FAIL for g in guards),
            topologies=tuple(dict.fromkeys(topologies)),
        )


def _settled(engine: EngineStatus) -> bool:
    return (
        engine.reachable and engine.directive is not None and engine.directive.ack is AckState.ACK
    )
