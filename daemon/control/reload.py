"""New settings for a running daemon: all of what can change now, or none."""

from __future__ import annotations

from hmas.daemon.settings import Settings

LIVE_SECTIONS = frozenset({"control", "meta", "log"})
LIVE_DAEMON_KEYS = frozenset(
    {"discover_s", "log_every_s", "view_every_s", "resume_every_s", "retention_s"}
)


def changed_keys(old: Settings, new: Settings) -> list[str]:
    """Sections and keys of ``daemon:`` that differ."""
    changed = [
        name
        for name in Settings.model_fields
        if name != "daemon" and getattr(old, name) != getattr(new, name)
    ]
    changed += [
        f"daemon.{name}"
        for name in type(old.daemon).model_fields
        if getattr(old.daemon, name) != getattr(new.daemon, name)
    ]
    return changed


def needs_restart(changed: list[str]) -> list[str]:
    """Those that a running daemon cannot take up."""
    live = LIVE_SECTIONS | {f"daemon.{name}" for name in LIVE_DAEMON_KEYS}
    return [name for name in changed if name not in live]
