"""Fallback chain llm -> rules -> hold; what did not decide is kept for comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hmas.controllers.meta.base import MetaContext, MetaController, Outcome, Proposal
from hmas.controllers.meta.validation import validated


class Choice(NamedTuple):
    """The proposal that decides, and every outcome, in the order they were asked."""

    proposal: Proposal
    outcomes: list[Outcome]


def choose(outcomes: Sequence[Outcome], fallback: MetaController, context: MetaContext) -> Choice:
    """The first outcome that is a valid proposal, else the fallback's, else hold.

    The fallback is asked in any case: when it does not decide it runs in shadow.
    """
    checked = [_checked(outcome, context) for outcome in (*outcomes, fallback.decide(context))]
    for outcome in checked:
        if isinstance(outcome, Proposal):
            return Choice(outcome, checked)
    return Choice(hold(context, "no controller had an answer"), checked)


def hold(context: MetaContext, reason: str) -> Proposal:
    """Keep what is active."""
    return Proposal(
        controller="hold", topology=context.active, hints=context.active_hints, reason=reason
    )


def _checked(outcome: Outcome, context: MetaContext) -> Outcome:
    return validated(outcome, context) if isinstance(outcome, Proposal) else outcome
