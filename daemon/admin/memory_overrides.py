"""The in-memory port's overrides: one per kind and target, with an end and a revision."""

from __future__ import annotations

from hmas.daemon.admin.port import RevisionConflictError, UnknownThingError
from hmas.daemon.wire import (
    ALL_ENGINES,
    ControlsRequest,
    OverrideKind,
    OverrideOut,
    OverrideRequest,
    PinRequest,
)


class OverrideBook:
    """Overrides that hold now; every change raises ``revision``, an expiry does too."""

    def __init__(self) -> None:
        self.revision = 0
        self._held: dict[str, OverrideOut] = {}
        self._issued = 0

    def add(
        self, kind: OverrideKind, request: OverrideRequest, operator: str, now_s: float
    ) -> OverrideOut:
        """Raises :class:`RevisionConflictError`."""
        self._check(request.expected_revision)
        self._issued += 1
        override = OverrideOut(
            id=f"{kind}-{self._issued}",
            kind=kind,
            engine_id=request.engine_id,
            owner=operator,
            reason=request.reason,
            created_at_s=now_s,
            expires_at_s=request.end_s(now_s),
            topology=request.topology if isinstance(request, PinRequest) else None,
            hints=request.hints if isinstance(request, PinRequest) else {},
            n_run=request.n_run if isinstance(request, ControlsRequest) else None,
            token_budget=request.token_budget if isinstance(request, ControlsRequest) else None,
        )
        for held in list(self._held.values()):
            if (held.kind, held.engine_id) == (kind, request.engine_id):
                del self._held[held.id]
        self._held[override.id] = override
        self.revision += 1
        return self._timed(override, now_s)

    def cancel(
        self, kind: OverrideKind, override_id: str, now_s: float, expected: int | None
    ) -> OverrideOut:
        """Raises :class:`RevisionConflictError`, :class:`UnknownThingError`."""
        self._check(expected)
        held = self._held.get(override_id)
        if held is None or held.kind is not kind:
            raise UnknownThingError(
                f"there is no {kind} {override_id!r}; it may have ended",
                field="override_id",
                fix="GET /hmas/v1/overrides lists those that hold",
            )
        del self._held[override_id]
        self.revision += 1
        return self._timed(held, now_s)

    def expire(self, now_s: float) -> list[OverrideOut]:
        """Drop and return what has ended by now."""
        ended = [
            held
            for held in self._held.values()
            if held.expires_at_s is not None and held.expires_at_s <= now_s
        ]
        for override in ended:
            del self._held[override.id]
        self.revision += len(ended)
        return ended

    def all(self, now_s: float) -> list[OverrideOut]:
        """Newest first, with the time that remains."""
        return [self._timed(held, now_s) for held in reversed(self._held.values())]

    def holding(self, kind: OverrideKind, engine_id: str) -> OverrideOut | None:
        """What holds for one engine: its own override before the one for ``*``."""
        for target in (engine_id, ALL_ENGINES):
            for held in self._held.values():
                if (held.kind, held.engine_id) == (kind, target):
                    return held
        return None

    def _check(self, expected: int | None) -> None:
        if expected is not None and expected != self.revision:
            raise RevisionConflictError(expected, self.revision)

    @staticmethod
    def _timed(override: OverrideOut, now_s: float) -> OverrideOut:
        if override.expires_at_s is None:
            return override
        remaining_s = max(0.0, override.expires_at_s - now_s)
        return override.model_copy(update={"remaining_s": remaining_s})
