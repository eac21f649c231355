"""The console's mark: three lanes that merge into one."""

from __future__ import annotations

from base64 import b64encode

from hmas.console.palette import BLUE, GREEN, ORANGE, TEXT

NAME = "H-MAS"

MARK = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 28 28" width="28" height="28">'
    f'<path d="M3 6h7c4 0 5 8 9 8h6" fill="none" stroke="{ORANGE}" stroke-width="3"'
    ' stroke-linecap="round"/>'
    f'<path d="M3 14h22" fill="none" stroke="{BLUE}" stroke-width="3" stroke-linecap="round"/>'
    f'<path d="M3 22h7c4 0 5-8 9-8" fill="none" stroke="{GREEN}" stroke-width="3"'
    ' stroke-linecap="round"/></svg>'
)

WORDMARK = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 112 28" width="112" height="28">'
    + MARK[MARK.index(">") + 1 : -len("</svg>")]
    + f'<text x="36" y="20.5" fill="{TEXT}" font-family="Noto Sans, Segoe UI, Arial, sans-serif"'
    ' font-size="18" font-weight="700" letter-spacing="0.4">H-MAS</text></svg>'
)


def as_image(svg: str) -> str:
    """A data URL: nothing is fetched from anywhere."""
    return f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"
