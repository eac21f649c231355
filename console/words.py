"""Numbers, times and states in words an operator reads at a glance. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from hmas.daemon.wire import ALL_ENGINES, OverrideKind, OverrideOut, Owner

NOT_MEASURED = "–"

OWNER_WORDS = {
    Owner.OPERATOR: "operator bypass",
    Owner.BYPASS: "guard: bypass",
    Owner.PIN: "operator pin",
    Owner.ROLLBACK: "guard: rollback",
    Owner.META: "meta-controller",
    Owner.DEFAULT: "default",
}


def percent(share: float | None) -> str:
    """``None`` is not measured, and a little is not nothing."""
    if share is None:
        return NOT_MEASURED
    value = 100 * share
    if 0 < value < 0.1:
        return "<0.1 %"
    return f"{value:.1f} %" if value < 10 else f"{value:.0f} %"


def count(value: float | None) -> str:
    return NOT_MEASURED if value is None else f"{value:,.0f}".replace(",", "\u202f")


def milliseconds(value: float | None) -> str:
    if value is None:
        return NOT_MEASURED
    if value < 10:
        return f"{value:.1f} ms"
    return f"{value:.0f} ms" if value < 1000 else f"{value / 1000:.2f} s"


def duration(seconds: float) -> str:
    """At most two units: ``45 s``, ``4 min``, ``1 h 05 min``, ``3 d 4 h``."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes = whole // 60
    if minutes < 60:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {rest:02d} min" if rest else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def ago(at_s: float | None, now_s: float) -> str:
    if at_s is None:
        return "never"
    age_s = now_s - at_s
    return "just now" if age_s < 2 else f"{duration(age_s)} ago"


def remaining(override: OverrideOut) -> str:
    if override.remaining_s is None:
        return "until removed"
    return f"{duration(override.remaining_s)} left"


def zone(name: str | None) -> ZoneInfo | None:
    """The browser's time zone; None when it is unknown here."""
    if not name:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def utc(at_s: float, pattern: str = "%H:%M:%S") -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime(pattern)


def local(at_s: float, where: ZoneInfo | None, pattern: str = "%H:%M:%S") -> str:
    """The same moment on the operator's own clock; empty when the zone is unknown."""
    return datetime.fromtimestamp(at_s, where).strftime(pattern) if where else ""


def both_times(at_s: float, where: ZoneInfo | None) -> str:
    """``14:03:22 UTC · 15:03:22 local``; one of them where they are the same."""
    here = local(at_s, where)
    return f"{utc(at_s)} UTC" + (f" · {here} local" if here else "")


def target(engine_id: str) -> str:
    return "all engines" if engine_id == ALL_ENGINES else engine_id


def override_title(override: OverrideOut) -> str:
    """What an override does, in a few words."""
    where = target(override.engine_id)
    if override.kind is OverrideKind.BYPASS:
        return f"Bypass on {where}"
    if override.kind is OverrideKind.PIN:
        hints = ", ".join(f"{name} {value:g}" for name, value in override.hints.items())
        return f"Pin {override.topology} on {where}" + (f" ({hints})" if hints else "")
    parts = []
    if override.n_run is not None:
        parts.append(f"N_run {override.n_run}")
    if override.token_budget is not None:
        parts.append(f"B_token {count(override.token_budget)}")
    return f"Fix {' and '.join(parts)} on {where}"
