"""What a meta-controller gets, and what it may answer."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

import msgspec

from hmas.controllers.views import VLong, VShort
from hmas.engine.directive import Hints

HintBounds = dict[str, tuple[float, float]]


class MetaContext(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a meta-controller may look at: plain data, no user text, no secrets.

    Attributes:
        windows: completed V_long, oldest first, of the last meta period.
        active: topology in force; ``stable`` is the last one that passed its guard window.
        topology_age_s: time since the active topology was chosen.
        available: topologies that the engine offers.
        quarantined: topologies that failed, with the time until which they are refused.
        hint_bounds: topology -> hint -> (low, high), for the available ones.
        switching_allowed: false within a guard window or a cool-down; ``blocked_by`` says which.
        bypass_allowed: so many requests miss their targets that plain FCFS may be asked for.
    """

    at_s: float
    engine_id: str
    windows: list[VLong]
    v_short: VShort | None
    active: str
    active_hints: Hints
    stable: str
    topology_age_s: float
    available: list[str]
    quarantined: dict[str, float]
    hint_bounds: dict[str, HintBounds]
    bypass: bool = False
    switching_allowed: bool = True
    blocked_by: str = ""
    bypass_allowed: bool = False

    @property
    def candidates(self) -> list[str]:
        """Available topologies that are not in quarantine."""
        return [name for name in self.available if name not in self.quarantined]


class Proposal(msgspec.Struct, frozen=True, kw_only=True, tag="proposal"):
    """A valid answer: the topology (possibly the active one: hold), hints, xi_bypass.

    ``prompt_version`` is that of the prompt an LLM answered to.
    """

    controller: str
    topology: str
    hints: Hints = {}
    bypass: bool = False
    reason: str
    prompt_version: int | None = None


class RefusalKind(StrEnum):
    """Why a controller's answer was not used."""

    NOT_JSON = "not_json"
    WRONG_SCHEMA = "wrong_schema"
    UNKNOWN_TOPOLOGY = "unknown_topology"
    HINT_OUT_OF_BOUNDS = "hint_out_of_bounds"
    TOO_LONG = "too_long"
    TIMEOUT = "timeout"
    HTTP_ERROR = "http_error"
    UNREACHABLE = "unreachable"
    QUARANTINED = "quarantined"
    BUDGET = "budget"
    NO_DATA = "no_data"
    INTERNAL_ERROR = "internal_error"


class Refusal(msgspec.Struct, frozen=True, kw_only=True, tag="refusal"):
    """An answer that was not used, or none at all; ``detail`` says what was wrong."""

    controller: str
    kind: RefusalKind
    detail: str
    prompt_version: int | None = None


Outcome = Proposal | Refusal


class MetaController(Protocol):
    """Pi_meta (paper Eq. 3). Pure: the LLM's I/O happens in the daemon."""

    @property
    def name(self) -> str: ...

    def decide(self, context: MetaContext) -> Outcome: ...
