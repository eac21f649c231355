from __future__ import annotations

import itertools

import pytest

from hmas.controllers.decisions import Owner
from hmas.controllers.guards.choice import Chosen
from hmas.controllers.guards.precedence import resolve
from hmas.controllers.overrides import KillSwitch, Overrides, Pin

PIN = Pin(topology="sjf", hints={"aging_every": 5.0}, reason="p", owner="alice", created_at_s=0.0)
KILL = KillSwitch(reason="k", owner="bob", created_at_s=0.0)
CHOSEN = Chosen("edf", {"first_token": 1.0})


@pytest.mark.parametrize(
    ("kill", "bypass", "pin", "rolled_back"),
    list(itertools.product([True, False], repeat=4)),
)
def test_precedence_over_all_combinations(
    kill: bool, bypass: bool, pin: bool, rolled_back: bool
) -> None:
    overrides = Overrides(kill_switch=KILL if kill else None, pin=PIN if pin else None)
    reason = "collapse" if bypass else None
    holding = resolve(overrides, reason, CHOSEN, rolled_back=rolled_back)
    if kill:
        assert (holding.owner, holding.topology, holding.bypass) == (
            Owner.KILL_SWITCH,
            "fcfs",
            True,
        )
    elif bypass:
        assert (holding.owner, holding.topology, holding.bypass) == (Owner.BYPASS, "fcfs", True)
    elif pin:
        assert (holding.owner, holding.topology, holding.bypass) == (Owner.PIN, "sjf", False)
        assert holding.hints == PIN.hints
    else:
        owner = Owner.ROLLBACK if rolled_back else Owner.META
        assert (holding.owner, holding.topology, holding.hints) == (owner, *CHOSEN)
        assert not holding.bypass
