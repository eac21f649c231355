"""The closed loop in virtual time: the daemon's schedule around the same EngineController."""

from __future__ import annotations

from collections import Counter
from collections.abc import Set as AbstractSet

import msgspec

from hmas.bench.report import ControlCounts, Switch
from hmas.controllers.config import ControlConfig
from hmas.controllers.decisions import CycleResult, GuardKind
from hmas.controllers.engine_controller import EngineController
from hmas.engine.core import ExecutionCore
from hmas.engine.directive import Directive, EngineDescription
from hmas.engine.events import Event


class ControlLoop:
    """Drives one simulated engine as the daemon drives a real one, without any I/O.

    One :meth:`tick` is a turn of the fast loop, and of the slow loop (meta-controller
    ``rules``) when it is due. ``withheld`` names topologies that it may not choose.
    """

    def __init__(
        self,
        core: ExecutionCore,
        config: ControlConfig,
        withheld: AbstractSet[str] = frozenset(),
    ) -> None:
        self._core = core
        self._controller = EngineController(_described(core, withheld), config)
        self._directives = self._nacks = 0
        self._guards: Counter[GuardKind] = Counter()
        self._switches: list[Switch] = []

    @property
    def switches(self) -> tuple[Switch, ...]:
        """What held the queue, and since when; the first entry is the initial topology."""
        return tuple(self._switches)

    def observe(self, event: Event) -> None:
        self._controller.observe(event)

    def tick(self, now_s: float) -> None:
        """One turn; ``now_s`` must not lie in the middle of an engine's step."""
        result = self._controller.cycle(now_s)
        self._note(result)
        wanted = result.directive or result.renew
        if wanted is not None:
            self._send(wanted, now_s, renewal=result.directive is None)
        self._controller.close_window(now_s)
        if self._controller.meta_due(now_s):
            self._controller.decide(now_s)

    def counts(self) -> ControlCounts:
        return ControlCounts(
            swaps=self._core.swaps,
            rollbacks=self._guards[GuardKind.ROLLBACK_FAIL],
            bypasses=self._guards[GuardKind.BYPASS_ON],
            directives=self._directives,
            nacks=self._nacks,
        )

    def _send(self, directive: Directive, now_s: float, *, renewal: bool) -> None:
        reply = self._core.apply(directive, now_s)
        self._directives += not renewal
        self._nacks += not reply.accepted
        self._controller.acknowledge(directive, reply, now_s)

    def _note(self, result: CycleResult) -> None:
        self._guards.update(event.kind for event in result.guard_events)
        bypass = result.renew is not None and result.renew.bypass
        last = self._switches[-1] if self._switches else None
        if last is None or (last.topology, last.bypass) != (result.topology, bypass):
            self._switches.append(
                Switch(
                    at_s=result.v_short.at_s,
                    topology=result.topology,
                    bypass=bypass,
                    owner=result.owner.value,
                    reason=result.sentence,
                )
            )


def _described(core: ExecutionCore, withheld: AbstractSet[str]) -> EngineDescription:
    description = core.describe()
    offered = [name for name in description.topologies if name not in withheld]
    return msgspec.structs.replace(description, topologies=offered)
