"""Plotly figures of the live page, made of views and switches. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import plotly.graph_objects as go

from hmas.console.palette import BLUE, GREEN, GRID, MUTED, ORANGE, PINK, RED, TEXT, YELLOW
from hmas.console.series import Window, bypass_spans, gaps
from hmas.daemon.wire import TopologySwitch, ViewPoint

HEIGHT_PX = 190
FONT = "Source Sans, sans-serif"
LABEL_SHARE = 0.14
"""Room that the longest topology name takes, as a share of a chart's width."""

LEGEND: Final = {
    "orientation": "h",
    "x": 1,
    "xanchor": "right",
    "y": 1,
    "yref": "container",
    "yanchor": "top",
    "font": {"size": 12, "color": MUTED},
    "itemclick": False,
    "itemdoubleclick": False,
}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a chart; ``read`` gives None where nothing was measured.

    An ``optional`` line is not even named where there is nothing to draw.
    """

    name: str
    read: Callable[[ViewPoint], float | None]
    colour: str
    dash: str = "solid"
    fill: bool = False
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart: a key for the page, a title, lines, and how to read the axis."""

    key: str
    title: str
    lines: tuple[Line, ...]
    suffix: str = ""
    percent: bool = False
    empty: str = "nothing measured in this window"


def _seconds(read: Callable[[ViewPoint], float | None]) -> Callable[[ViewPoint], float | None]:
    def in_seconds(point: ViewPoint) -> float | None:
        value = read(point)
        return None if value is None else value / 1000

    return in_seconds


CHARTS = (
    Chart(
        "queue",
        "Requests",
        (
            Line("waiting", lambda p: p.queue_length, ORANGE, fill=True),
            Line("running", lambda p: p.running, BLUE),
        ),
    ),
    Chart(
        "ttft",
        "Time to first token",
        (
            Line("p50", _seconds(lambda p: p.ttft_p50_ms), BLUE, fill=True),
            Line("p95", _seconds(lambda p: p.ttft_p95_ms), PINK),
            Line("target", _seconds(lambda p: p.slo_ttft_ms), MUTED, "dot", optional=True),
        ),
        suffix=" s",
    ),
    Chart(
        "violations",
        "Violation rate",
        (
            Line("TTFT", lambda p: p.ttft_violation_rate, RED, fill=True),
            Line("TPOT", lambda p: p.tpot_violation_rate, YELLOW),
        ),
        percent=True,
    ),
    Chart(
        "n_run",
        "Concurrency cap N_run",
        (
            Line("N_run", lambda p: p.n_run, BLUE),
            Line("running", lambda p: p.running, MUTED, "dot", fill=True),
        ),
        empty="unbounded in this window",
    ),
    Chart(
        "token_budget",
        "Token budget B_token",
        (Line("tokens per step", lambda p: p.token_budget, GREEN),),
        empty="unbounded in this window",
    ),
    Chart(
        "kv",
        "KV cache and busy time",
        (
            Line("KV cache", lambda p: p.kv_used, PINK, fill=True),
            Line("busy", lambda p: p.busy_fraction, BLUE),
        ),
        percent=True,
    ),
)


def _moment(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def _xy(line: Line, window: Window) -> tuple[list[str], list[float | None]]:
    """Moments and values, with a hole where the daemon was silent."""
    breaks = gaps(window.points)
    xs: list[str] = []
    ys: list[float | None] = []
    for index, point in enumerate(window.points):
        if index in breaks:
            xs.append(_moment(point.at_s - 0.001))
            ys.append(None)
        xs.append(_moment(point.at_s))
        ys.append(line.read(point))
    return xs, ys


def _trace(line: Line, window: Window, *, percent: bool, suffix: str) -> go.Scatter:
    xs, ys = _xy(line, window)
    value = "%{y:.1%}" if percent else "%{y:,.4~g}" + suffix
    return go.Scatter(
        x=xs,
        y=ys,
        name=line.name,
        mode="lines",
        line={"color": line.colour, "width": 2, "dash": line.dash},
        fill="tozeroy" if line.fill else "none",
        fillcolor=_translucent(line.colour, 0.14),
        hovertemplate=f"{line.name} <b>{value}</b><extra></extra>",
        connectgaps=False,
    )


def _translucent(colour: str, opacity: float) -> str:
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"


def figure(chart: Chart, window: Window) -> go.Figure:
    """One chart of one window; says so itself when there is nothing to draw."""
    shown = [
        _trace(line, window, percent=chart.percent, suffix=chart.suffix)
        for line in chart.lines
        if not line.optional or _measured(line, window)
    ]
    result = go.Figure(shown)
    result.update_layout(**_layout(chart, window))
    if not _measured(chart.lines[0], window):
        _say(result, chart.empty)
    _mark_bypass(result, window)
    _mark_switches(result, window)
    return result


def _measured(line: Line, window: Window) -> bool:
    return any(line.read(point) is not None for point in window.points)


def _layout(chart: Chart, window: Window) -> dict[str, object]:
    return {
        "height": HEIGHT_PX,
        "margin": {"l": 42, "r": 14, "t": 48, "b": 22},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": TEXT, "size": 11.5, "family": FONT},
        "title": _title(chart.title),
        "legend": LEGEND,
        "showlegend": True,
        "hovermode": "x unified",
        "hoverlabel": {"bgcolor": "#18212F", "bordercolor": GRID, "font": {"color": TEXT}},
        "dragmode": False,
        "uirevision": chart.key,
        "xaxis": _time_axis(window),
        "yaxis": _value_axis(chart, window),
    }


def _title(text: str) -> dict[str, object]:
    return {
        "text": text,
        "font": {"size": 14, "color": TEXT, "weight": 600},
        "x": 0,
        "xref": "container",
        "xanchor": "left",
        "pad": {"l": 2, "t": 9},
        "y": 1,
        "yref": "container",
        "yanchor": "top",
    }


def _time_axis(window: Window) -> dict[str, object]:
    return {
        "type": "date",
        "range": [_moment(window.start_s), _moment(window.end_s)],
        "showgrid": False,
        "linecolor": GRID,
        "tickfont": {"color": MUTED},
        "dtick": 1000 * tick_s(window.end_s - window.start_s),
        "tickformat": "%H:%M",
        "hoverformat": "%H:%M:%S UTC",
        "fixedrange": True,
    }


def _value_axis(chart: Chart, window: Window) -> dict[str, object]:
    top = max((line.read(p) or 0.0 for line in chart.lines for p in window.points), default=0.0)
    return {
        "range": [0, ceiling(top, percent=chart.percent)],
        "gridcolor": GRID,
        "zeroline": False,
        "tickfont": {"color": MUTED},
        "tickformat": ".0%" if chart.percent else "~g" if chart.suffix else "~s",
        "ticksuffix": chart.suffix,
        "nticks": 5,
        "fixedrange": True,
    }


def tick_s(span_s: float) -> float:
    """Whole minutes between the labels of the time axis: about five of them."""
    return max(60.0, 60.0 * round(span_s / 5 / 60))


def ceiling(top: float, *, percent: bool) -> float:
    """Head room above the highest value, in steps, so that the axis does not breathe."""
    if percent:
        return next((step for step in (0.1, 0.25, 0.5) if top <= step * 0.98), 1.05)
    return next(
        step
        for exponent in range(-1, 16)
        for step in (10.0**exponent * digit for digit in (1, 1.5, 2, 3, 5, 7.5))
        if top * 1.1 <= step
    )


def _say(result: go.Figure, text: str) -> None:
    result.add_annotation(
        text=text,
        x=0.5,
        y=0.5,
        xref="paper",
        yref="paper",
        showarrow=False,
        font={"color": MUTED, "size": 12},
    )


def _mark_bypass(result: go.Figure, window: Window) -> None:
    for start_s, end_s in bypass_spans(window.points):
        result.add_vrect(
            x0=_moment(start_s),
            x1=_moment(end_s),
            fillcolor=_translucent(RED, 0.16),
            line_width=0,
            layer="below",
        )


def _mark_switches(result: go.Figure, window: Window) -> None:
    """A thin line at every switch, and the new topology's name where there is room."""
    labelled = set(labels(window))
    for switch in window.switches:
        moment = _moment(switch.at_s)
        result.add_vline(x=moment, line={"color": MUTED, "width": 1, "dash": "dot"}, opacity=0.7)
        if switch in labelled:
            result.add_annotation(
                text="bypass" if switch.bypass else switch.after,
                x=moment,
                y=1,
                yref="paper",
                xanchor="right" if _is_near_end(switch, window) else "left",
                yanchor="bottom",
                showarrow=False,
                font={"size": 10, "color": RED if switch.bypass else MUTED},
            )


def _room_s(window: Window) -> float:
    return LABEL_SHARE * (window.end_s - window.start_s)


def _is_near_end(switch: TopologySwitch, window: Window) -> bool:
    return window.end_s - switch.at_s < _room_s(window)


def labels(window: Window) -> list[TopologySwitch]:
    """The switches whose names fit side by side; the newest first, they matter most."""
    room_s, free_until_s = _room_s(window), window.end_s
    chosen = []
    for switch in reversed(window.switches):
        left_s = switch.at_s - room_s if _is_near_end(switch, window) else switch.at_s
        if left_s + room_s <= free_until_s:
            chosen.append(switch)
            free_until_s = left_s
    return chosen
