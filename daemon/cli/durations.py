"""Durations as people write them: ``90s``, ``30m``, ``1h30m``, ``2d``."""

from __future__ import annotations

import re

_UNITS_S = {"d": 86_400.0, "h": 3600.0, "m": 60.0, "s": 1.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)([dhms])")
_WHOLE = re.compile(r"(?:\d+(?:\.\d+)?[dhms])+")


def parse_duration(text: str) -> float:
    """Seconds, more than none; every unit at most once, the larger before the smaller.

    Raises:
        ValueError: anything else; the message says how to write it.
    """
    compact = "".join(text.lower().split())
    if not _WHOLE.fullmatch(compact):
        hint = f": did you mean {compact}s or {compact}m?" if compact.isdigit() else ""
        raise ValueError(f"{text!r} is no duration{hint or '; write 90s, 30m, 1h30m or 2d'}")
    parts = _PART.findall(compact)
    order = [list(_UNITS_S).index(unit) for _, unit in parts]
    if order != sorted(set(order)):
        raise ValueError(f"{text!r}: write every unit once, the larger first, like 1h30m")
    seconds = sum(float(number) * _UNITS_S[unit] for number, unit in parts)
    if seconds <= 0:
        raise ValueError(f"{text!r} is no time at all")
    return seconds


def duration_words(seconds: float) -> str:
    """``1h 30m``; two units are enough, below a minute one decimal."""
    if seconds < 60:
        return f"{seconds:.3g}s"
    words = []
    rest = round(seconds)
    for unit, size in _UNITS_S.items():
        count, rest = divmod(rest, int(size))
        if count:
            words.append(f"{count}{unit}")
    return " ".join(words[:2])
