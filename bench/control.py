"""What drives the engine in a replay: ``stock``, ``hmas`` or ``static:TOPOLOGY:TOKEN_BUDGET``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from hmas.engine.topologies import topology_names


class ControlKind(StrEnum):
    """stock: the engine's own FCFS scheduler; hmas: the closed loop; static: a fixed pair."""

    STOCK = "stock"
    HMAS = "hmas"
    STATIC = "static"


@dataclass(frozen=True, slots=True)
class ControlSpec:
    """``topology`` and ``token_budget`` are set for static control only."""

    kind: ControlKind
    topology: str = ""
    token_budget: int = 0

    def __str__(self) -> str:
        if self.kind is ControlKind.STATIC:
            return f"{self.kind}:{self.topology}:{self.token_budget}"
        return self.kind.value


STOCK = ControlSpec(ControlKind.STOCK)
HMAS = ControlSpec(ControlKind.HMAS)


def parse_control(text: str) -> ControlSpec:
    """The control that ``text`` names.

    Raises:
        ValueError: says what is wrong and what would be right.
    """
    kind, *rest = text.split(":")
    if kind in (ControlKind.STOCK, ControlKind.HMAS) and not rest:
        return ControlSpec(ControlKind(kind))
    if kind != ControlKind.STATIC or len(rest) != 2:
        raise ValueError(
            f"control {text!r}: expected stock, hmas or static:TOPOLOGY:TOKEN_BUDGET "
            "(such as static:edf:512)"
        )
    topology, budget = rest
    if topology not in topology_names():
        known = ", ".join(topology_names())
        raise ValueError(
            f"control {text!r}: unknown topology {topology!r}, expected one of {known}"
        )
    if not budget.isdecimal() or int(budget) < 1:
        raise ValueError(f"control {text!r}: the token budget {budget!r} is not a whole number")
    return ControlSpec(ControlKind.STATIC, topology, int(budget))
