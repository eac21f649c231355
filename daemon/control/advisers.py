"""Who may advise the slow loop: one decides, others are recorded for comparison."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from hmas.controllers.meta.base import MetaContext, Outcome


class Adviser(Protocol):
    """A meta-controller that may need I/O; it answers in bounded time and never raises."""

    async def propose(self, context: MetaContext) -> Outcome: ...


@dataclass(frozen=True, slots=True)
class Advisers:
    """``primary`` None: the rules, which need nobody to be asked."""

    primary: Adviser | None = None
    shadows: Mapping[str, Adviser] = field(default_factory=dict)
