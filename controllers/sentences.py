"""One sentence per cycle: the log line, the audit row and what tests assert."""

from __future__ import annotations

from hmas.controllers.decisions import Owner
from hmas.controllers.guards.precedence import Holding
from hmas.controllers.views import VShort
from hmas.engine.directive import Controls, Directive


def state_words(view: VShort, *, band: float, least: int, stale_s: float) -> str:
    """How the engine does, as the reason to hold."""
    if view.doubt:
        return f"engine in stock order: {view.doubt}"
    age_s = view.signal_age_s
    if view.running is None:
        if age_s is None:
            return "no signal from the engine yet"
        if age_s > stale_s:
            return f"engine silent for {age_s:.0f} s"
    if view.lease_expired:
        return "lease expired, renewing"
    rate = view.violation_rate
    if rate is None:
        return "no traffic" if not view.arrivals_per_s else "no request has finished yet"
    if view.samples < least:
        return f"only {view.samples} of {least} requests measured"
    place = "within band" if rate <= band else f"of {view.samples}"
    return f"violation rate {rate:.2f} {place}"


def holding_words(holding: Holding) -> str:
    """Kill switch, bypass and pin speak for themselves."""
    if holding.owner is Owner.PIN:
        return f"pinned {holding.topology} {holding.reason}"
    return f"bypass: {holding.reason}"


def change_words(before: Directive | None, after: Directive, reason: str) -> str:
    """What a new directive of the slow or the fast loop changes."""
    if before is None:
        return f"start {after.topology}: {reason}"
    if before.bypass and not after.bypass:
        return f"resume {after.topology}: bypass ended"
    if before.topology != after.topology:
        return f"switch {before.topology} -> {after.topology}: {reason}"
    if before.hints != after.hints:
        return f"tune {after.topology}: {_hint_words(before, after)}"
    return f"tune {after.topology}: {control_words(before.controls, after.controls)}"


def control_words(before: Controls, after: Controls) -> str:
    """Changed controls, old and new value."""
    changes = [
        f"{label} {_show(old)} -> {_show(new)}"
        for label, old, new in (
            ("token budget", before.token_budget, after.token_budget),
            ("n_run", before.n_run, after.n_run),
            ("kv margin", before.kv_margin, after.kv_margin),
            ("tpot guard", before.tpot_guard, after.tpot_guard),
        )
        if old != new
    ]
    if before.fence != after.fence:
        changes.append(f"fence {_fence(before)} -> {_fence(after)}")
    if before.step_model != after.step_model:
        changes.append("step model refitted" if after.step_model else "step model withdrawn")
    return ", ".join(changes) or "issued again"


def _hint_words(before: Directive, after: Directive) -> str:
    names = sorted(before.hints.keys() | after.hints.keys())
    return ", ".join(
        f"{name} {_show(before.hints.get(name))} -> {_show(after.hints.get(name))}"
        for name in names
        if before.hints.get(name) != after.hints.get(name)
    )


def _show(value: float | None) -> str:
    return "default" if value is None else f"{value:g}"


def _fence(controls: Controls) -> str:
    """The fence's widest bound stands for all buckets."""
    return f"+{max(controls.fence.values())}" if controls.fence else "off"
