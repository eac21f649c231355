"""One self-contained HTML page: Plotly charts and tables, no address outside the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

Figure = Any
"""A ``plotly.graph_objects.Figure``; plotly has no types."""

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1f2933; margin: 2rem auto; max-width: 1080px;
  padding: 0 1rem }
h1 { font-size: 1.6rem } h2 { font-size: 1.2rem; margin-top: 2.2rem }
table { border-collapse: collapse; margin: .6rem 0; font-size: 13px }
th, td { padding: .25rem .6rem; border-bottom: 1px solid #e4e7eb; text-align: right }
th:first-child, td:first-child { text-align: left }
.pass { color: #186a3b } .fail { color: #b03a2e; font-weight: 600 } .none { color: #7b8794 }
.wide { overflow-x: auto }
.note { color: #52606d; font-size: 13px }
"""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, words (plain text), and then a table or a chart or both."""

    title: str
    words: str = ""
    table: Sequence[Mapping[str, object]] = ()
    chart: Figure = None


def page(title: str, origin: str, sections: Sequence[Section]) -> str:
    """The whole document; plotly.js is written into it once, before the first chart."""
    parts = [f"<h1>{escape(title)}</h1>", f'<p class="note">{escape(origin)}</p>']
    has_script = False
    for section in sections:
        parts.append(f"<h2>{escape(section.title)}</h2>")
        if section.words:
            parts.append(f'<p class="note">{escape(section.words)}</p>')
        if section.chart is not None:
            parts.append(_chart(section.chart, with_script=not has_script))
            has_script = True
        if section.table:
            parts.append(html_table(section.table))
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n<body>{body}</body></html>\n"
    )


def _chart(figure: Figure, *, with_script: bool) -> str:
    html: str = figure.to_html(
        full_html=False, include_plotlyjs=with_script, config={"displaylogo": False}
    )
    return html


def html_table(rows: Sequence[Mapping[str, object]]) -> str:
    """All keys of all rows as columns, in the order in which they first appear."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    lines = [
        "<tr>" + "".join(_cell(row.get(column)) for column in columns) + "</tr>" for row in rows
    ]
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
    return f'<div class="wide">{table}</div>'


def _cell(value: object) -> str:
    words = shown(value)
    kind = words if words in {"pass", "fail"} else "none" if words in {"–", "not measured"} else ""
    return f'<td class="{kind}">{escape(words)}</td>' if kind else f"<td>{escape(words)}</td>"


def shown(value: object) -> str:
    """A number with as many digits as a reader needs, a dash for what is not there."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3f}"
    return str(value)
