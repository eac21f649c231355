"""What the controllers decided, why, and from which inputs: records, not behaviour."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from hmas.controllers.meta.base import Proposal, Refusal
from hmas.controllers.views import VShort
from hmas.engine.directive import Directive, Hints, StepModel


class Owner(StrEnum):
    """Who holds the topology right now, highest precedence first."""

    KILL_SWITCH = "kill_switch"
    BYPASS = "bypass"
    PIN = "pin"
    ROLLBACK = "rollback"
    META = "meta"


class Action(StrEnum):
    """What a decision of the slow loop comes to."""

    HOLD = "hold"
    SWITCH = "switch"
    HINTS = "hints"
    BYPASS = "bypass"


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """One turn of the slow loop.

    ``applied`` is false when a higher owner or a guard stands in the way (``reason`` says so).
    ``outcomes`` holds every controller's answer, the deciding one among them; ``inputs`` is
    the condensed V_long (a :class:`~hmas.controllers.meta.summary.Summary` as plain data).
    """

    decision_id: str
    at_s: float
    engine_id: str
    action: Action
    previous: str
    topology: str
    hints: Hints = {}
    controller: str
    reason: str
    applied: bool
    sentence: str
    outcomes: list[Proposal | Refusal] = []
    inputs: dict[str, Any] = {}


class GuardKind(StrEnum):
    BYPASS_ON = "bypass_on"
    BYPASS_OFF = "bypass_off"
    ROLLBACK_PASS = "rollback_pass"  # noqa: S105
    ROLLBACK_FAIL = "rollback_fail"
    ROLLBACK_INCONCLUSIVE = "rollback_inconclusive"
    ROLLBACK_ERROR = "rollback_error"
    GUARD_ERROR = "guard_error"
    NACK = "nack"
    REISSUE = "reissue"


class GuardEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A guard changed its mind; stored and shown."""

    at_s: float
    engine_id: str
    kind: GuardKind
    topology: str
    reason: str
    evidence: dict[str, float | int | str | None] = {}


class CycleResult(msgspec.Struct, frozen=True, kw_only=True):
    """One turn of the fast loop; ``directive`` None: renew the active one.

    ``renew`` is what to send then (None before the first directive was issued).
    """

    v_short: VShort
    directive: Directive | None
    renew: Directive | None
    owner: Owner
    topology: str
    sentence: str
    guard_events: list[GuardEvent] = []


class ResumeState(msgspec.Struct, frozen=True, kw_only=True):
    """What a restarted daemon needs to go on where it was; JSON-able.

    ``calibration`` is D_b: bucket -> prediction errors in tokens, oldest first.
    """

    engine_id: str
    version: int
    topology: str
    hints: Hints = {}
    stable_topology: str
    stable_hints: Hints = {}
    chosen_at_s: float = 0.0
    cool_down_until_s: float = 0.0
    quarantine: dict[str, float] = {}
    failures: dict[str, int] = {}
    calibration: dict[int, list[int]] = {}
    step_model: StepModel | None = None
    decisions: int = 0
