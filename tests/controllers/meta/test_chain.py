from __future__ import annotations

from hmas.controllers.config import RulesConfig
from hmas.controllers.meta.base import MetaContext, Outcome, Proposal, Refusal, RefusalKind
from hmas.controllers.meta.chain import choose
from hmas.controllers.meta.rules import Rules
from tests.controllers.support import context, long

TIMEOUT = Refusal(controller="llm", kind=RefusalKind.TIMEOUT, detail="no answer within 10 s")
RULES = Rules(RulesConfig(), 20)
BUSY = context(long(violation_rate=0.4))


def wish(topology: str, **changes: object) -> Proposal:
    return Proposal(controller="llm", topology=topology, reason="r", **changes)  # type: ignore[arg-type]


class Silent:
    name = "silent"

    def decide(self, context: MetaContext) -> Outcome:
        return Refusal(controller="silent", kind=RefusalKind.NO_DATA, detail="nothing")


def test_the_first_valid_proposal_decides_and_the_rules_run_in_shadow() -> None:
    choice = choose([wish("two_lane")], RULES, BUSY)
    assert choice.proposal == wish("two_lane")
    shadow = choice.outcomes[1]
    assert isinstance(shadow, Proposal)
    assert (shadow.controller, shadow.topology) == ("rules", "edf")


def test_a_refusal_leaves_it_to_the_rules() -> None:
    choice = choose([TIMEOUT], RULES, BUSY)
    assert choice.proposal.controller == "rules"
    assert choice.outcomes[0] == TIMEOUT


def test_an_invalid_proposal_becomes_a_refusal() -> None:
    choice = choose([wish("lifo"), wish("edf", hints={"first_token": 9.0})], RULES, BUSY)
    kinds = [outcome.kind for outcome in choice.outcomes if isinstance(outcome, Refusal)]
    assert kinds == [RefusalKind.UNKNOWN_TOPOLOGY, RefusalKind.HINT_OUT_OF_BOUNDS]
    assert choice.proposal.controller == "rules"


def test_with_nothing_at_all_it_holds() -> None:
    choice = choose([TIMEOUT], Silent(), context(active="sjf", active_hints={"aging_every": 9.0}))
    assert choice.proposal.controller == "hold"
    assert choice.proposal.topology == "sjf"
    assert choice.proposal.hints == {"aging_every": 9.0}
