"""Range checks of settings: one message form that names the field and the fix."""

from __future__ import annotations

import math


def require(field: str, value: float, low: float, high: float = math.inf) -> None:
    """Raises ValueError unless ``low <= value <= high``."""
    if not low <= value <= high:
        limit = f"at least {low:g}" if math.isinf(high) else f"between {low:g} and {high:g}"
        raise ValueError(f"{field} must be {limit}, got {value:g}")


def require_above(field: str, value: float, low: float) -> None:
    """Raises ValueError unless ``value > low``."""
    if not value > low:
        raise ValueError(f"{field} must be greater than {low:g}, got {value:g}")


def require_less(field: str, value: float, other: str, bound: float) -> None:
    """Raises ValueError unless ``value < bound``, the value of the field ``other``."""
    if not value < bound:
        raise ValueError(f"{field} must be less than {other} ({bound:g}), got {value:g}")
