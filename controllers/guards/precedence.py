"""Whose word counts: kill switch > bypass > pin > rollback > meta."""

from __future__ import annotations

from typing import NamedTuple

from hmas.controllers.decisions import Owner
from hmas.controllers.guards.choice import Chosen
from hmas.controllers.overrides import Overrides, expiry_words
from hmas.engine.directive import Hints
from hmas.engine.topologies import BASELINE


class Holding(NamedTuple):
    """What is to be in force, and in whose name."""

    owner: Owner
    topology: str
    hints: Hints
    reason: str

    @property
    def bypass(self) -> bool:
        """xi: plain FCFS with unbounded controls."""
        return self.owner in {Owner.KILL_SWITCH, Owner.BYPASS}


def resolve(
    overrides: Overrides, bypass_reason: str | None, chosen: Chosen, *, rolled_back: bool
) -> Holding:
    """``overrides`` without expired ones; ``bypass_reason`` None while the guard is off."""
    if (kill := overrides.kill_switch) is not None:
        words = f"kill switch by {kill.owner} {expiry_words(kill)}: {kill.reason}"
        return Holding(Owner.KILL_SWITCH, BASELINE, {}, words)
    if bypass_reason is not None:
        return Holding(Owner.BYPASS, BASELINE, {}, bypass_reason)
    if (pin := overrides.pin) is not None:
        words = f"by {pin.owner} {expiry_words(pin)}: {pin.reason}"
        return Holding(Owner.PIN, pin.topology, pin.hints, words)
    owner = Owner.ROLLBACK if rolled_back else Owner.META
    return Holding(owner, chosen.topology, chosen.hints, "")
