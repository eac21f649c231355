"""What the meta-controller's prompt is rendered with: plain data, no user text, no secrets.

Tenant names and engine messages stay out: only counts and rates of tenants go in.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from hmas.controllers.meta.base import MetaContext
from hmas.controllers.meta.summary import summarize
from hmas.controllers.views import GroupView, VLong
from hmas.engine.topologies import topology_class

MAX_WINDOWS: Final = 12

WINDOW_FIELDS: Final = (
    "rps",
    "violation_rate",
    "ttft_violation_rate",
    "tpot_violation_rate",
    "ttft_p95_ms",
    "tpot_p95_ms",
    "hol_index",
    "fairness",
    "mismatch_mean",
    "waiting",
    "kv_used",
)


def prompt_inputs(context: MetaContext, fairness_threshold: float) -> dict[str, Any]:
    """Variables of ``prompts/meta_controller.md.j2``; ``context`` holds at least one window."""
    summary = summarize(context.windows, fairness_threshold)
    return {
        "active": context.active,
        "active_hints": dict(context.active_hints),
        "topology_age_s": round(context.topology_age_s),
        "topologies": [_topology(name) for name in context.candidates],
        "quarantined": sorted(context.quarantined),
        "switching_allowed": context.switching_allowed,
        "blocked_by": context.blocked_by if not context.switching_allowed else "",
        "bypass_allowed": context.bypass_allowed,
        "summary": _rounded(msgspec.to_builtins(summary)),
        "windows": [_window(window, context.at_s) for window in context.windows[-MAX_WINDOWS:]],
        "tasks": _tasks(context.windows[-1]),
        "worst_tenant_violation_rate": _worst(context.windows[-1].tenants),
    }


def _topology(name: str) -> dict[str, Any]:
    """A topology of the registry in the registry's own words."""
    topology = topology_class(name)
    hints = [
        {
            "name": hint,
            "low": spec.low,
            "high": spec.high,
            "default": spec.default,
            "meaning": spec.meaning,
        }
        for hint, spec in topology.HINTS.items()
    ]
    return {"name": name, "fights": topology.fights, "hints": hints}


def _window(window: VLong, now_s: float) -> dict[str, Any]:
    fields = {name: getattr(window, name) for name in WINDOW_FIELDS}
    return {"age_s": round(now_s - window.end_s), **_rounded(fields)}


def _tasks(window: VLong) -> list[dict[str, Any]]:
    return [
        _rounded({"task": task, "share": view.share, "violation_rate": view.violation_rate})
        for task, view in list(window.tasks.items())[:13]
    ]


def _worst(groups: dict[str, GroupView]) -> float | None:
    rates = [view.violation_rate for view in groups.values() if view.violation_rate is not None]
    return round(max(rates), 3) if rates else None


def _rounded(data: dict[str, Any]) -> dict[str, Any]:
    """Three digits say enough, and keep the prompt short."""
    return {
        key: float(f"{value:.3g}") if isinstance(value, float) else value
        for key, value in data.items()
    }
