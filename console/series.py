"""The views of one engine that a page holds: merged, bounded, thinned for drawing. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from hmas.daemon.wire import TopologySwitch, ViewPoint, ViewSeries

KEEP_S = 3600.0


@dataclass(frozen=True, slots=True)
class Window:
    """What the charts of one refresh show."""

    start_s: float
    end_s: float
    points: tuple[ViewPoint, ...] = ()
    switches: tuple[TopologySwitch, ...] = ()


class ViewBuffer:
    """Grows by what is new since the last refresh; forgets what is older than ``KEEP_S``."""

    def __init__(self) -> None:
        self._points: dict[float, ViewPoint] = {}
        self._switches: dict[float, TopologySwitch] = {}

    @property
    def newest_s(self) -> float | None:
        return max(self._points, default=None)

    def merge(self, series: ViewSeries) -> None:
        """Add what a refresh brought; repeats replace."""
        self._points |= {point.at_s: point for point in series.short}
        self._switches |= {switch.at_s: switch for switch in series.switches}
        newest_s = self.newest_s
        if newest_s is not None:
            oldest_s = newest_s - KEEP_S
            self._points = {at: p for at, p in self._points.items() if at >= oldest_s}
            self._switches = {at: s for at, s in self._switches.items() if at >= oldest_s}

    def window(self, now_s: float, span_s: float, at_most: int = 180) -> Window:
        """The last ``span_s`` seconds in at most ``at_most`` points.

        It moves on by whole steps of ``span_s / at_most``: charts whose window did not move are
        the same charts, and Streamlit leaves them alone.
        """
        step_s = span_s / at_most
        end_s = now_s // step_s * step_s
        start_s = end_s - span_s
        points = [p for at, p in sorted(self._points.items()) if start_s <= at <= end_s]
        switches = [s for at, s in sorted(self._switches.items()) if start_s <= at <= end_s]
        return Window(start_s, end_s, tuple(thinned(points, step_s)), tuple(switches))


def thinned(points: Sequence[ViewPoint], step_s: float) -> list[ViewPoint]:
    """The first point of every ``step_s``; steps are counted from the epoch, so that lines do
    not dance between refreshes."""
    firsts: dict[int, ViewPoint] = {}
    for point in points:
        firsts.setdefault(int(point.at_s // step_s), point)
    return list(firsts.values())


def gaps(points: Sequence[ViewPoint]) -> set[int]:
    """Indices before which the line must break: much longer than the usual distance."""
    steps = [after.at_s - before.at_s for before, after in pairwise(points)]
    if len(steps) < 3:
        return set()
    usual_s = sorted(steps)[len(steps) // 2]
    return {index + 1 for index, step_s in enumerate(steps) if step_s > max(5 * usual_s, 3.0)}


def bypass_spans(points: Sequence[ViewPoint]) -> list[tuple[float, float]]:
    """From when to when the engine ran in bypass."""
    spans: list[tuple[float, float]] = []
    began_s: float | None = None
    for point in points:
        if point.bypass and began_s is None:
            began_s = point.at_s
        elif not point.bypass and began_s is not None:
            spans.append((began_s, point.at_s))
            began_s = None
    if began_s is not None:
        spans.append((began_s, points[-1].at_s))
    return spans
