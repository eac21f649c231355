"""What the demo prints at its end."""

from __future__ import annotations

import json
import platform
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from rich.table import Table

import hmas
from hmas.bench.demo_run import DemoResult
from hmas.bench.metrics import Summary


@dataclass(frozen=True, slots=True)
class Origin:
    """Where numbers come from: printed with every benchmark."""

    command: str
    machine: str
    at: str
    version: str

    @classmethod
    def of(cls, arguments: Sequence[str], now_s: float, cores: int) -> Origin:
        return cls(
            command=shlex.join(["python", "-m", "hmas.bench.demo", *arguments]),
            machine=f"{platform.machine()}, {cores} cores, {platform.system()}",
            at=datetime.fromtimestamp(now_s, UTC).isoformat(timespec="seconds"),
            version=hmas.__version__,
        )

    def line(self) -> str:
        return f"{self.at} · {self.machine} · hmas {self.version} · {self.command}"


@dataclass(frozen=True, slots=True)
class _Row:
    label: str
    key: str
    value: Callable[[DemoResult, Summary], float]
    shown: Callable[[float], str]


def _percent(value: float) -> str:
    return f"{value:.1%}"


def _seconds(value: float) -> str:
    return f"{value / 1000:.2f} s"


def _milliseconds(value: float) -> str:
    return f"{value:.0f} ms"


def _count(value: float) -> str:
    return f"{value:,.0f}"


ROWS = (
    _Row("goodput (both SLOs met)", "goodput_rate", lambda _, s: s.goodput_rate, _percent),
    _Row("TTFT compliance", "ttft_compliance", lambda _, s: s.ttft_compliance, _percent),
    _Row("TPOT compliance", "tpot_compliance", lambda _, s: s.tpot_compliance, _percent),
    _Row("TTFT p50", "ttft_p50_ms", lambda _, s: s.ttft_ms[50], _seconds),
    _Row("TTFT p95", "ttft_p95_ms", lambda _, s: s.ttft_ms[95], _seconds),
    _Row("TPOT p95", "tpot_p95_ms", lambda _, s: s.tpot_ms[95], _milliseconds),
    _Row("ESG per second", "esg_per_s", lambda _, s: s.esg_per_s, _count),
    _Row("requests", "requests", lambda _, s: s.requests, _count),
    _Row("completed", "completed", lambda _, s: s.completed, _count),
    _Row("lost", "lost", lambda r, _: r.live.lost, _count),
    _Row("until the last answer", "duration_s", lambda _, s: s.duration_s, lambda v: f"{v:.0f} s"),
    _Row("swaps", "swaps", lambda r, _: r.swaps, _count),
    _Row("rollbacks", "rollbacks", lambda r, _: r.rollbacks, _count),
)


def comparison(results: Sequence[DemoResult], title: str) -> Table:
    """One column per run."""
    table = Table(title=title, title_justify="left")
    table.add_column("")
    summaries = [result.live.summary() for result in results]
    for result in results:
        table.add_column(result.control.value, justify="right")
    for row in ROWS:
        pairs = zip(results, summaries, strict=True)
        table.add_row(row.label, *(row.shown(row.value(r, s)) for r, s in pairs))
    table.add_row("topologies", *(", ".join(result.topologies) or "-" for result in results))
    return table


def as_dict(results: Sequence[DemoResult]) -> dict[str, dict[str, object]]:
    """The same figures as plain data, by control."""
    found: dict[str, dict[str, object]] = {}
    for result in results:
        summary = result.live.summary()
        figures: dict[str, object] = {row.key: round(row.value(result, summary), 6) for row in ROWS}
        figures["topologies"] = list(result.topologies)
        figures["errors"] = result.live.errors
        figures["client_late_p99_s"] = round(result.live.late_p99_s, 6)
        found[result.control.name.lower()] = figures
    return found


def to_json(results: Sequence[DemoResult], origin: Origin, facts: dict[str, object]) -> str:
    """One object: where from, what was replayed, the figures of each run."""
    return json.dumps(
        {
            "command": origin.command,
            "machine": origin.machine,
            "at": origin.at,
            "version": origin.version,
            **facts,
            "runs": as_dict(results),
        }
    )
