"""What the admin API needs of the daemon: one protocol, and the ways in which it says no."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from hmas.daemon.wire import (
    AuditOut,
    BypassRequest,
    ControlsRequest,
    DecisionOut,
    DirectiveOut,
    FleetStatus,
    GuardEventOut,
    HealthOut,
    Horizon,
    OverrideChange,
    OverrideKind,
    PinRequest,
    RequestOut,
    TopologyOut,
    ViewSeries,
)


class PortError(Exception):
    """The daemon refuses or cannot: ``field`` names the input, ``fix`` says what to do."""

    def __init__(self, message: str, *, field: str = "", fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.fix = fix


class InvalidInputError(PortError):
    """The input is well-formed and still wrong: answered 422."""


class UnknownThingError(PortError):
    """No engine, override or request of that name: answered 404."""


class RevisionConflictError(PortError):
    """The overrides changed since the caller read them: answered 409."""

    def __init__(self, expected: int, current: int) -> None:
        super().__init__(
            f"the overrides are at revision {current}, not {expected}",
            field="expected_revision",
            fix="read the overrides again and repeat with their revision",
        )
        self.current = current


class UnavailableError(PortError):
    """The daemon cannot answer now (storage down, shutting down): answered 503."""


@dataclass(frozen=True, slots=True)
class PageQuery:
    """The newest ``limit`` rows, of one engine (None: all), before and after given times."""

    engine_id: str | None = None
    limit: int = 100
    since_s: float | None = None
    before_s: float | None = None


@dataclass(frozen=True, slots=True)
class ViewQuery:
    """The newest ``limit`` views of one engine after ``since_s``."""

    engine_id: str
    horizon: Horizon = Horizon.SHORT
    since_s: float | None = None
    limit: int = 600


class ReadPort(Protocol):
    """What the API shows. Lists are newest first, series oldest first."""

    async def status(self) -> FleetStatus: ...

    async def views(self, query: ViewQuery) -> ViewSeries:
        """Raises :class:`UnknownThingError` for an engine that is not configured."""
        ...

    async def decisions(self, query: PageQuery) -> list[DecisionOut]: ...

    async def directives(self, query: PageQuery) -> list[DirectiveOut]: ...

    async def guard_events(self, query: PageQuery) -> list[GuardEventOut]: ...

    async def audit(self, query: PageQuery) -> list[AuditOut]: ...

    async def request(self, request_id: str) -> RequestOut:
        """Raises :class:`UnknownThingError` when it was never seen or not sampled."""
        ...

    async def health(self) -> HealthOut: ...

    def topologies(self) -> list[TopologyOut]: ...

    def metrics(self) -> bytes:
        """Prometheus text exposition, version 0.0.4."""
        ...


class WritePort(Protocol):
    """What an operator may do. ``operator`` is the token's name and goes into the audit.

    The app has already checked engine, topology, hints and bounds (:mod:`.checks`). An
    override replaces an earlier one of its kind on the same target; one on an engine's own id
    wins over ``*``. It holds from the next cycle on; the answer does not wait for the engine.
    All four raise :class:`RevisionConflictError` when ``expected_revision`` is not current.
    """

    async def pin(self, request: PinRequest, operator: str) -> OverrideChange: ...

    async def set_controls(self, request: ControlsRequest, operator: str) -> OverrideChange: ...

    async def set_bypass(self, request: BypassRequest, operator: str) -> OverrideChange: ...

    async def cancel(
        self,
        kind: OverrideKind,
        override_id: str,
        operator: str,
        expected_revision: int | None = None,
    ) -> OverrideChange:
        """Raises :class:`UnknownThingError` when no such override of this kind holds."""
        ...


class ControlPort(ReadPort, WritePort, Protocol):
    """Everything: what the daemon and :class:`.memory_port.MemoryPort` implement."""
