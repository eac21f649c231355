"""Two pictures for a README, drawn by hand as SVG: no browser, no plotting library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Final

from hmas.bench.paper.evidence import Evidence
from hmas.bench.scenarios.catalogue import SCENARIOS

WIDTH, HEIGHT = 760, 344
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 60, 48
PLOT_WIDTH, PLOT_HEIGHT = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
COLOURS: Final = ("#9aa5b1", "#e0a458", "#2a6fbb", "#cfd8e3")
BAR_LOADS: Final = ("light", "moderate", "near", "over", "heavy", "stress")


def draw(evidence: Evidence, folder: Path) -> list[Path]:
    """Writes what the evidence suffices for; the paths of the files."""
    pictures = {
        "bench-goodput.svg": goodput_bars(evidence),
        "bench-stress.svg": stress_lines(evidence),
    }
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, picture in pictures.items():
        if picture:
            (folder / name).write_text(picture, encoding="utf-8")
            written.append(folder / name)
    return written


def goodput_bars(evidence: Evidence) -> str:
    """Goodput rate per load: stock, best FCFS budget, H-MAS, and the bound."""
    loads = [name for name in BAR_LOADS if evidence.goodput(name, "stock") is not None]
    if not loads:
        return ""
    rows: dict[str, list[float | None]] = {
        "stock vLLM": [evidence.goodput(name, "stock") for name in loads],
        "best FCFS budget": [_best_plain(evidence, name) for name in loads],
        "H-MAS": [evidence.goodput(name, "hmas") for name in loads],
        "clairvoyant bound": [evidence.bound(name) for name in loads],
    }
    labels = [f"{name}, {SCENARIOS[name].rps:g}/s" for name in loads]
    return bars("Share of requests within both SLOs, by load", labels, rows)


def _best_plain(evidence: Evidence, name: str) -> float | None:
    best = evidence.best_static(name, plain=True)
    return evidence.goodput(name, best) if best else None


def stress_lines(evidence: Evidence) -> str:
    """Goodput rate over the stress test, windows of 10 s of the first seed."""
    lines = {
        title: runs[0].goodput_windows
        for title, system in (("stock vLLM", "stock"), ("H-MAS", "hmas"))
        if (runs := evidence.runs("stress", system))
    }
    if not lines:
        return ""
    return curves("Stress test (Eq. 13): goodput rate over time", lines, SCENARIOS["stress"].phases)


def bars(title: str, groups: Sequence[str], rows: Mapping[str, Sequence[float | None]]) -> str:
    """Grouped bars between 0 and 1; a missing value leaves its place empty."""
    parts = _frame(title, list(rows))
    slot = PLOT_WIDTH / len(groups)
    width = slot * 0.8 / len(rows)
    for at, group in enumerate(groups):
        middle = LEFT + slot * (at + 0.5)
        parts.append(_text(middle, HEIGHT - BOTTOM + 20, group, "middle"))
        for row, values in enumerate(rows.values()):
            value = values[at]
            if value is None:
                continue
            x, y = LEFT + slot * (at + 0.1) + row * width, _y(value)
            parts.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{width - 2:.1f}" '
                f'height="{HEIGHT - BOTTOM - y:.1f}" fill="{COLOURS[row]}"/>'
            )
            parts.append(_text(x + width / 2 - 1, y - 3, f"{value:.2f}", "middle", 9))
    return _svg(parts)


def curves(title: str, lines: Mapping[str, Sequence[float]], phases: Sequence[str]) -> str:
    """Lines between 0 and 1 over equal windows; phases of equal length are named below."""
    parts = _frame(title, list(lines), colours=(COLOURS[0], COLOURS[2]))
    for at, phase in enumerate(phases):
        x = LEFT + PLOT_WIDTH * at / len(phases)
        parts.append(
            f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}" stroke="#d5dae0"/>'
        )
        parts.append(_text(x + PLOT_WIDTH / len(phases) / 2, HEIGHT - BOTTOM + 20, phase, "middle"))
    for colour, values in zip((COLOURS[0], COLOURS[2]), lines.values(), strict=False):
        step = PLOT_WIDTH / max(1, len(values))
        points = " ".join(
            f"{LEFT + step * (at + 0.5):.1f},{_y(value):.1f}" for at, value in enumerate(values)
        )
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
        )
    return _svg(parts)


def _frame(title: str, names: Sequence[str], colours: Sequence[str] = COLOURS) -> list[str]:
    parts = [f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>']
    parts.append(_text(LEFT, 18, title, "start", 14))
    for level in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = _y(level)
        parts.append(
            f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#eceff2"/>'
        )
        parts.append(_text(LEFT - 6, y + 4, f"{level:.2f}", "end", 10))
    for at, name in enumerate(names):
        x = LEFT + at * 150
        parts.append(f'<rect x="{x}" y="26" width="10" height="10" fill="{colours[at]}"/>')
        parts.append(_text(x + 14, 35, name, "start", 11))
    return parts


def _y(value: float) -> float:
    return TOP + PLOT_HEIGHT * (1 - min(1.0, max(0.0, value)))


def _text(x: float, y: float, words: str, anchor: str, size: int = 12) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" '
        f'fill="#2b3440">{escape(words)}</text>'
    )


def _svg(parts: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="system-ui, sans-serif">\n' + "\n".join(parts) + "\n</svg>\n"
    )
