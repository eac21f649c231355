"""Figures: lines, axes, markers, and what is shown when there is nothing."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.console.figures import CHARTS, LABEL_SHARE, ceiling, figure, labels, tick_s
from hmas.console.series import Window
from hmas.daemon.wire import Owner, TopologySwitch, ViewPoint

VIEWS = tuple(
    ViewPoint(
        at_s=float(at),
        window_s=5.0,
        queue_length=at,
        running=20,
        kv_used=0.5,
        busy_fraction=0.6,
        ttft_p50_ms=300.0,
        ttft_p95_ms=900.0,
        slo_ttft_ms=2000.0,
        ttft_violation_rate=0.02,
        tpot_violation_rate=0.01,
        n_run=64,
        token_budget=2048,
        bypass=at > 280,
    )
    for at in range(0, 300, 2)
)


def switch(at_s: float, after: str, *, bypass: bool = False) -> TopologySwitch:
    return TopologySwitch(
        at_s=at_s,
        engine_id="a",
        before="fcfs",
        after=after,
        owner=Owner.META,
        sentence="",
        bypass=bypass,
    )


SWITCHES = (
    switch(30, "edf"),
    switch(40, "wfq"),
    switch(150, "sjf"),
    switch(281, "fcfs", bypass=True),
)
WINDOW = Window(0.0, 300.0, VIEWS, SWITCHES)


def notes(result: object) -> list[str]:
    return [note["text"] for note in result.to_dict()["layout"].get("annotations", [])]  # type: ignore[attr-defined]


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.key)
def test_every_chart_draws_all_its_lines(chart) -> None:  # type: ignore[no-untyped-def]
    drawn = figure(chart, WINDOW).to_dict()
    assert [trace["name"] for trace in drawn["data"]] == [line.name for line in chart.lines]
    assert drawn["layout"]["title"]["text"] == chart.title
    assert drawn["layout"]["xaxis"]["range"][0].startswith("1970-01-01 00:00:00")


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.key)
def test_every_chart_says_when_there_is_nothing(chart) -> None:  # type: ignore[no-untyped-def]
    assert notes(figure(chart, Window(0.0, 300.0))) == [chart.empty]


def test_switches_are_marked_and_labelled_where_there_is_room() -> None:
    drawn = figure(CHARTS[0], WINDOW)
    assert sorted(notes(drawn)) == ["bypass", "sjf", "wfq"]
    lines = [s for s in drawn.to_dict()["layout"]["shapes"] if s["type"] == "line"]
    assert len(lines) == len(SWITCHES)


def test_bypass_is_shaded() -> None:
    shapes = figure(CHARTS[0], WINDOW).to_dict()["layout"]["shapes"]
    assert [shape["type"] for shape in shapes].count("rect") == 1


def test_latencies_are_drawn_in_seconds() -> None:
    ttft = next(chart for chart in CHARTS if chart.key == "ttft")
    assert figure(ttft, WINDOW).data[1].y[0] == 0.9


def test_a_silence_is_a_hole() -> None:
    silent = Window(0.0, 300.0, (*VIEWS[:20], *VIEWS[60:]))
    assert None in figure(CHARTS[0], silent).data[0].y


@given(st.floats(0, 1e12))
def test_the_axis_has_head_room_but_not_much(top: float) -> None:
    height = ceiling(top, percent=False)
    assert top * 1.1 <= height
    assert height <= max(0.1, top * 1.1 * 2.01)


@pytest.mark.parametrize(("top", "height"), [(0, 0.1), (0.09, 0.1), (0.2, 0.25), (1.0, 1.05)])
def test_shares_have_few_axes(top: float, height: float) -> None:
    assert ceiling(top, percent=True) == height


@pytest.mark.parametrize(("span_s", "step_s"), [(300, 60), (900, 180), (3600, 720)])
def test_about_five_labels_of_time(span_s: float, step_s: float) -> None:
    assert tick_s(span_s) == step_s


def test_a_target_that_nobody_set_is_not_named() -> None:
    ttft = next(chart for chart in CHARTS if chart.key == "ttft")
    bare = tuple(view.model_copy(update={"slo_ttft_ms": None}) for view in VIEWS)
    assert [trace.name for trace in figure(ttft, Window(0.0, 300.0, bare)).data] == ["p50", "p95"]


@given(st.lists(st.floats(0, 300), unique=True, max_size=30))
def test_labels_never_overlap_and_the_newest_has_one(moments: list[float]) -> None:
    switches = tuple(switch(at_s, "edf") for at_s in sorted(moments))
    chosen = labels(Window(0.0, 300.0, (), switches))
    assert chosen[:1] == list(switches[-1:])
    room_s = 300.0 * LABEL_SHARE
    lefts = [s.at_s - room_s if 300.0 - s.at_s < room_s else s.at_s for s in chosen]
    for right, left in pairwise(lefts):
        assert left + room_s <= right + 1e-9
