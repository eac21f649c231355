"""What every proposal must satisfy, whoever made it."""

from __future__ import annotations

import math

from hmas.controllers.meta.base import MetaContext, Outcome, Proposal, Refusal, RefusalKind


def validated(proposal: Proposal, context: MetaContext) -> Outcome:
    """The proposal itself, or why it must not be used. Holding is always allowed."""
    name = proposal.controller
    if proposal.topology not in context.available:
        known = ", ".join(context.available)
        return _refuse(
            name,
            RefusalKind.UNKNOWN_TOPOLOGY,
            f"topology {_short(proposal.topology)} is not available (available: {known})",
        )
    until_s = context.quarantined.get(proposal.topology)
    if until_s is not None and proposal.topology != context.active:
        left_s = max(0.0, until_s - context.at_s)
        detail = f"{proposal.topology} failed before, quarantined for another {left_s:.0f} s"
        return _refuse(name, RefusalKind.QUARANTINED, detail)
    bounds = context.hint_bounds.get(proposal.topology, {})
    for hint, value in proposal.hints.items():
        if hint not in bounds:
            detail = f"{proposal.topology} has no hint {_short(hint)}"
            return _refuse(name, RefusalKind.HINT_OUT_OF_BOUNDS, detail)
        low, high = bounds[hint]
        if not (math.isfinite(value) and low <= value <= high):
            detail = f"hint {hint} must lie in [{low:g}, {high:g}], got {value:g}"
            return _refuse(name, RefusalKind.HINT_OUT_OF_BOUNDS, detail)
    return proposal


def _refuse(controller: str, kind: RefusalKind, detail: str) -> Refusal:
    return Refusal(controller=controller, kind=kind, detail=detail)


def _short(text: str) -> str:
    return ascii(text if len(text) <= 40 else text[:40] + "...")
