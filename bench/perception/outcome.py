"""What the perception benchmark found: as data, as text, as a page."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import msgspec
from rich.console import Console
from rich.table import Table

from hmas.bench.html_report import Section, page, shown
from hmas.bench.paper.document import Document, Origin, rounded
from hmas.bench.perception.accuracy import Accuracy, confusion_rows
from hmas.bench.perception.left_out import LeftOut
from hmas.bench.perception.speed import Speed

WIDTH = 160
OWN_SOURCES = frozenset({"written", "tongues"})
"""Templates of our own: no public source covers what they do, so leaving them out is apart."""

Rows = Sequence[Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """All measurements of one run; ``removed`` near-duplicates were kept out of training."""

    origin: Origin
    seed: int
    model: str
    removed: int
    trained_on: int
    chain: Accuracy
    alone: Accuracy
    rules: Accuracy
    left_out: tuple[LeftOut, ...]
    speed: Speed

    def left_out_mean(self, *, public: bool) -> float | None:
        """Mean over left-out sources: the public ones, or all."""
        found = [
            one.accuracy for one in self.left_out if not (public and one.source in OWN_SOURCES)
        ]
        return fmean(found) if found else None


def document(outcome: Outcome) -> Document:
    """One JSON object."""
    made: Document = {
        **outcome.origin.as_dict(),
        "seed": outcome.seed,
        "model": outcome.model,
        "trained_on": outcome.trained_on,
        "near_duplicates_removed": outcome.removed,
        "chain": outcome.chain.as_dict(),
        "learned_alone": outcome.alone.as_dict(),
        "rules_alone": outcome.rules.as_dict(),
        "confusion": confusion_rows(outcome.chain),
        "left_out": {one.source: one.accuracy for one in outcome.left_out},
        "left_out_mean_public": outcome.left_out_mean(public=True),
        "left_out_mean_all": outcome.left_out_mean(public=False),
        "speed": msgspec.to_builtins(outcome.speed),
        "targets": [dict(row) for row in targets(outcome)],
    }
    return {key: rounded(value) for key, value in made.items()}


def targets(outcome: Outcome) -> Rows:
    """What had to be reached (issue 4), and the verdict."""
    speed = outcome.speed
    left = outcome.left_out_mean(public=True)
    wanted: list[tuple[str, float | None, float, bool]] = [
        ("accuracy, held out, source-balanced", outcome.chain.source_balanced, 0.942, True),
        ("accuracy, public source left out, mean", left, 0.85, True),
        ("perception + prediction, mean ms", speed.mean_ms, 0.4, False),
        ("perception + prediction, p98 ms", speed.p98_ms, 1.5, False),
        ("requests/s on one core", speed.per_s, 2000.0, True),
        ("resident MB", speed.memory_mb, 300.0, False),
    ]
    return [
        {
            "target": name,
            "wanted": f"{'at least' if at_least else 'at most'} {bound:g}",
            "measured": value,
            "verdict": _verdict(value, bound, at_least=at_least),
        }
        for name, value, bound, at_least in wanted
    ]


def _verdict(value: float | None, bound: float, *, at_least: bool) -> str:
    if value is None:
        return "not measured"
    return "pass" if (value >= bound if at_least else value <= bound) else "fail"


def _source_rows(outcome: Outcome) -> Rows:
    left = {one.source: one.accuracy for one in outcome.left_out}
    return [
        {
            "source": name,
            "held-out prompts": outcome.chain.prompts[name],
            "chain": value,
            "learned alone": outcome.alone.by_source[name],
            "rules alone": outcome.rules.by_source[name],
            "chain, source left out": left.get(name),
        }
        for name, value in outcome.chain.by_source.items()
    ]


def _task_rows(outcome: Outcome) -> Rows:
    return [
        {"task": name, "chain": value, "learned alone": outcome.alone.by_task[name]}
        for name, value in outcome.chain.by_task.items()
    ]


def _sections(outcome: Outcome) -> list[tuple[str, str, Rows]]:
    trained = (
        f"{outcome.trained_on} training prompts, {outcome.removed} near-duplicates of test "
        f"prompts removed (MinHash), split seed {outcome.seed}, model: {outcome.model}"
    )
    speed = [
        {"quantity": name, "value": value}
        for name, value in msgspec.to_builtins(outcome.speed).items()
    ]
    return [
        ("Targets", trained, targets(outcome)),
        ("Accuracy by source", "Labels: see hmas.bench.corpus.", _source_rows(outcome)),
        ("Accuracy by task", "", _task_rows(outcome)),
        ("Confusion of the chain", "Rows: label. Columns: answer.", confusion_rows(outcome.chain)),
        ("Speed", "One core, 250 requests/s, then without pause.", speed),
    ]


def report(outcome: Outcome) -> str:
    """A self-contained page."""
    facts = outcome.origin.as_dict()
    origin = " · ".join(str(facts[key]) for key in ("date", "machine", "commit", "command"))
    sections = [Section(title, words, rows) for title, words, rows in _sections(outcome)]
    return page("H-MAS: perception", origin, sections)


def printed(outcome: Outcome) -> str:
    """The same as text tables."""
    console = Console(file=io.StringIO(), width=WIDTH)
    for key, value in outcome.origin.as_dict().items():
        console.print(f"{key}: {value}", highlight=False)
    for title, words, rows in _sections(outcome):
        console.print(_table(title, rows))
        if words:
            console.print(words, highlight=False)
    written = console.file
    assert isinstance(written, io.StringIO)
    return written.getvalue()


def _table(title: str, rows: Rows) -> Table:
    made = Table(title=title, title_justify="left")
    columns = list(dict.fromkeys(key for row in rows for key in row))
    for column in columns:
        made.add_column(column, overflow="fold")
    for row in rows:
        made.add_row(*[shown(row.get(column)) for column in columns])
    return made
