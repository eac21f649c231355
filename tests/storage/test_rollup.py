"""Minutes of views: what is summed up, and that two parts make the same whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.storage.records import Horizon
from hmas.storage.rollup import merged, minute_of, rolled_up
from tests.storage.support import view

numbers = st.floats(-1e12, 1e12)


def test_minutes_start_at_full_minutes() -> None:
    assert [minute_of(at_s) for at_s in (0.0, 59.99, 60.0, 125.0)] == [0.0, 0.0, 60.0, 120.0]


def test_numbers_are_summed_up_by_path_and_the_rest_is_left_out() -> None:
    payloads = [
        {"waiting": 2, "ttft": {"p95": 0.5}, "topology": "edf", "bypass": True, "all": [1]},
        {"waiting": 4, "ttft": {"p95": None}, "topology": "edf", "bypass": False, "all": []},
    ]
    [row] = rolled_up([view(61.0 + number, payload=p) for number, p in enumerate(payloads)])
    assert (row.engine_id, row.horizon, row.at_s) == ("engine0", Horizon.SHORT_MINUTE, 60.0)
    assert row.payload == {
        "count": 2,
        "fields": {
            "waiting": {"count": 2, "mean": 3.0, "max": 4.0},
            "ttft.p95": {"count": 1, "mean": 0.5, "max": 0.5},
        },
    }


def test_engines_and_minutes_stay_apart() -> None:
    rows = rolled_up([view(1.0), view(61.0), view(2.0, engine_id="other"), view(3.0)])
    assert [(row.engine_id, row.at_s, row.payload["count"]) for row in rows] == [
        ("engine0", 0.0, 2),
        ("engine0", 60.0, 1),
        ("other", 0.0, 1),
    ]


def test_nothing_gives_nothing() -> None:
    assert rolled_up([]) == []


@given(first=st.lists(numbers, min_size=1), second=st.lists(numbers, min_size=1))
def test_two_parts_make_the_same_whole(first: list[float], second: list[float]) -> None:
    views = [view(n / 100, payload={"x": x}) for n, x in enumerate(first + second)][:6000]
    part = len(first)
    [whole] = rolled_up(views)
    both = merged(rolled_up(views[:part])[0], rolled_up(views[part:])[0])
    assert both.payload["count"] == whole.payload["count"]
    field, expected = both.payload["fields"]["x"], whole.payload["fields"]["x"]
    assert (field["count"], field["max"]) == (expected["count"], expected["max"])
    assert field["mean"] == pytest.approx(expected["mean"], rel=1e-9, abs=1e-3)


def test_a_field_that_only_one_part_has_is_kept() -> None:
    [older], [newer] = rolled_up([view(1.0, payload={"a": 1})]), rolled_up([view(2.0, payload={})])
    assert merged(older, newer).payload["fields"] == older.payload["fields"]
    assert merged(newer, older).payload["fields"] == older.payload["fields"]
