from __future__ import annotations

import re

import plotly.graph_objects
import pytest

from hmas.bench.html_report import Section, html_table, page, shown


def chart() -> plotly.graph_objects.Figure:
    return plotly.graph_objects.Figure(plotly.graph_objects.Bar(x=["a"], y=[1]))


def test_the_page_needs_nothing_from_outside() -> None:
    html = page("Report", "today", [Section("One", chart=chart()), Section("Two", chart=chart())])
    assert not re.search(r"<(?:script|img|iframe|link)[^>]+(?:src|href)\s*=", html)
    assert "@import" not in html
    assert html.count("Plotly.newPlot") == 2


def test_plotly_is_written_once() -> None:
    one = len(page("Report", "", [Section("One", chart=chart())]))
    two = len(page("Report", "", [Section("One", chart=chart()), Section("Two", chart=chart())]))
    assert two - one < one / 100


def test_what_is_shown_is_escaped() -> None:
    html = page("<b>", "&", [Section("<i>", "<script>", [{"<u>": "<s>"}])])
    for tag in ("<b>", "<i>", "<script>", "<u>", "<s>"):
        assert tag not in html.replace("<style>", "")


def test_verdicts_have_a_class() -> None:
    html = html_table([{"verdict": "pass"}, {"verdict": "fail"}, {"verdict": None}])
    assert 'class="pass"' in html
    assert 'class="fail"' in html
    assert 'class="none"' in html


def test_columns_are_those_of_all_rows() -> None:
    assert "<th>a</th><th>b</th>" in html_table([{"a": 1}, {"b": 2}])


@pytest.mark.parametrize(
    ("value", "words"), [(None, "–"), (0.25, "0.250"), (12345.6, "12,346"), ("x", "x"), (3, "3")]
)
def test_numbers_are_readable(value: object, words: str) -> None:
    assert shown(value) == words
