"""Views as a page holds them."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from hmas.console.series import KEEP_S, ViewBuffer, bypass_spans, gaps, thinned
from hmas.daemon.wire import Horizon, Owner, TopologySwitch, ViewPoint, ViewSeries


def points(moments: Iterable[float], *, bypass: Iterable[float] = ()) -> tuple[ViewPoint, ...]:
    marked = set(bypass)
    return tuple(ViewPoint(at_s=at, window_s=5.0, bypass=at in marked) for at in moments)


def series(*moments: float, switches: tuple[TopologySwitch, ...] = ()) -> ViewSeries:
    return ViewSeries(
        engine_id="a", horizon=Horizon.SHORT, short=points(moments), switches=switches
    )


def test_refreshes_are_merged_and_repeats_replace() -> None:
    buffer = ViewBuffer()
    buffer.merge(series(1, 2, 3))
    buffer.merge(series(3, 4))
    assert buffer.newest_s == 4
    assert [p.at_s for p in buffer.window(4, 180).points] == [1, 2, 3, 4]


def test_what_is_too_old_is_forgotten() -> None:
    buffer = ViewBuffer()
    buffer.merge(series(0, 1))
    buffer.merge(series(KEEP_S + 1))
    assert [p.at_s for p in buffer.window(KEEP_S + 80, 2 * KEEP_S).points] == [1, KEEP_S + 1]


def test_an_empty_buffer_has_an_empty_window() -> None:
    window = ViewBuffer().window(1000, 300)
    assert window.points == ()
    assert window.end_s - window.start_s == 300


def test_a_window_stands_still_within_a_step() -> None:
    buffer = ViewBuffer()
    buffer.merge(series(*range(900, 1001)))
    assert buffer.window(1000.0, 900) == buffer.window(1004.9, 900)
    assert buffer.window(1000.0, 900) != buffer.window(1005.0, 900)


def test_switches_are_shown_within_the_window_only() -> None:
    early, late = (
        TopologySwitch(
            at_s=at, engine_id="a", before="fcfs", after="edf", owner=Owner.META, sentence=""
        )
        for at in (10.0, 990.0)
    )
    buffer = ViewBuffer()
    buffer.merge(series(*range(1000), switches=(early, late)))
    assert buffer.window(1000, 300).switches == (late,)


@given(st.lists(st.floats(0, 1e6), unique=True, max_size=400), st.floats(0.1, 100))
def test_thinning_keeps_order_and_one_point_per_step(moments: list[float], step_s: float) -> None:
    kept = thinned(points(sorted(moments)), step_s)
    times = [point.at_s for point in kept]
    assert times == sorted(times)
    slots = [int(at // step_s) for at in times]
    assert len(slots) == len(set(slots)) == len({int(at // step_s) for at in moments})


def test_a_silence_breaks_the_line() -> None:
    assert gaps(points([1, 2, 3, 4, 30, 31])) == {4}
    assert gaps(points([1, 30])) == set()


def test_bypass_is_shaded_from_its_first_to_the_next_view() -> None:
    assert bypass_spans(points(range(10), bypass=(2, 3, 8, 9))) == [(2, 4), (8, 9)]
    assert bypass_spans(()) == []
