"""Operators' overrides in force: one per kind and target, with an end and a revision."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

import msgspec

from hmas.controllers.overrides import ControlOverride, KillSwitch, Overrides, Pin
from hmas.storage.records import ALL_ENGINES, OverrideKind, OverrideRecord


class RevisionError(ValueError):
    """Somebody else changed the overrides in between."""

    def __init__(self, expected: int, current: int) -> None:
        super().__init__(f"the overrides are at revision {current}, not {expected}")
        self.expected = expected
        self.current = current


class UnknownOverrideError(KeyError):
    """No such override is in force."""


class OverrideBook:
    """What holds now. Every change, expiry included, raises ``revision``."""

    def __init__(self, held: Iterable[OverrideRecord] = ()) -> None:
        self._held = {record.id: record for record in held}
        self.revision = len(self._held)

    def held(self) -> list[OverrideRecord]:
        """Newest first."""
        return sorted(self._held.values(), key=lambda record: record.created_at_s, reverse=True)

    def check(self, expected_revision: int | None) -> None:
        """Raises :class:`RevisionError`."""
        if expected_revision is not None and expected_revision != self.revision:
            raise RevisionError(expected_revision, self.revision)

    def put(
        self,
        kind: OverrideKind,
        engine_id: str,
        payload: dict[str, Any],
        *,
        reason: str,
        owner: str,
        now_s: float,
        expires_at_s: float | None = None,
    ) -> list[OverrideRecord]:
        """Add one; returns it, then the revoked one that it replaces, if any."""
        replaced = self._holding(kind, engine_id)
        added = OverrideRecord(
            engine_id=engine_id,
            id=f"{kind.value}-{uuid.uuid4().hex[:12]}",
            kind=kind,
            payload=payload,
            reason=reason,
            owner=owner,
            created_at_s=now_s,
            expires_at_s=expires_at_s,
        )
        changed = [added]
        if replaced is not None:
            changed.append(self._revoke(replaced, owner, now_s))
        self._held[added.id] = added
        self.revision += 1
        return changed

    def cancel(
        self, kind: OverrideKind, override_id: str, operator: str, now_s: float
    ) -> OverrideRecord:
        """The revoked record. Raises :class:`UnknownOverrideError`."""
        record = self._held.get(override_id)
        if record is None or record.kind is not kind:
            raise UnknownOverrideError(override_id)
        self.revision += 1
        return self._revoke(record, operator, now_s)

    def expire(self, now_s: float) -> list[OverrideRecord]:
        """Forget and return what has ended by now."""
        ended = [record for record in self._held.values() if not record.is_active(now_s)]
        for record in ended:
            del self._held[record.id]
        self.revision += len(ended)
        return ended

    def of_engine(self, engine_id: str) -> Overrides:
        """For the controllers; an engine's own override wins over the one for all."""
        pin = self._effective(OverrideKind.PIN, engine_id)
        controls = self._effective(OverrideKind.CONTROLS, engine_id)
        switch = self._effective(OverrideKind.BYPASS_SWITCH, engine_id)
        return Overrides(
            pin=msgspec.convert(_fields(pin), Pin) if pin else None,
            controls=msgspec.convert(_fields(controls), ControlOverride) if controls else None,
            kill_switch=msgspec.convert(_fields(switch), KillSwitch) if switch else None,
        )

    def _effective(self, kind: OverrideKind, engine_id: str) -> OverrideRecord | None:
        return self._holding(kind, engine_id) or self._holding(kind, ALL_ENGINES)

    def _holding(self, kind: OverrideKind, target: str) -> OverrideRecord | None:
        for record in self._held.values():
            if record.kind is kind and record.engine_id == target:
                return record
        return None

    def _revoke(self, record: OverrideRecord, operator: str, now_s: float) -> OverrideRecord:
        del self._held[record.id]
        return msgspec.structs.replace(record, revoked_at_s=now_s, revoked_by=operator)


_TAGS = {
    OverrideKind.PIN: "pin",
    OverrideKind.CONTROLS: "controls",
    OverrideKind.BYPASS_SWITCH: "kill_switch",
}


def _fields(record: OverrideRecord) -> dict[str, Any]:
    return {
        **record.payload,
        "type": _TAGS[record.kind],
        "reason": record.reason,
        "owner": record.owner,
        "created_at_s": record.created_at_s,
        "expires_at_s": record.expires_at_s,
    }
