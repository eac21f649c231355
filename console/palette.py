"""Colours of the console: Okabe-Ito hues, lightened for a dark page.

Colour never stands alone: every tone has a symbol, every second line of a chart a dash.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Tone(StrEnum):
    """How urgent something is; the names are CSS classes too."""

    GOOD = "good"
    CALM = "calm"
    WARN = "warn"
    BAD = "bad"
    UNKNOWN = "unknown"


SYMBOL: Final = {
    Tone.GOOD: "●",
    Tone.CALM: "○",
    Tone.WARN: "▲",
    Tone.BAD: "✕",
    Tone.UNKNOWN: "–",
}

TEXT: Final = "#E7EDF6"
MUTED: Final = "#9AA8BF"
GRID: Final = "#212C3E"
PANEL: Final = "#131B28"

BLUE: Final = "#56B4E9"
ORANGE: Final = "#E69F00"
GREEN: Final = "#2BC4A0"
YELLOW: Final = "#F0E442"
RED: Final = "#F2764B"
PINK: Final = "#D291BC"
