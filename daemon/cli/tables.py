"""What the admin API answers, as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import gmtime, strftime

from rich import box
from rich.markup import escape
from rich.table import Table

from hmas.daemon import wire
from hmas.daemon.cli.durations import duration_words

UNKNOWN = "-"


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def fleet(status: wire.FleetStatus) -> Table:
    """One row per engine."""
    table = _table(
        "engine", "topology", "set by", "directive", "queue", "run", "viol.", "N_run", "B_token"
    )
    for engine in status.engines:
        view = engine.v_short
        table.add_row(
            escape(engine.engine_id),
            _topology(engine),
            escape(f"{engine.owner} {engine.set_by}".strip()),
            _directive(engine),
            _number(view.queue_length if view else None),
            _number(view.running if view else None),
            _share(view.violation_rate if view else None),
            _number(engine.n_run, "unbounded"),
            _number(engine.token_budget, "unbounded"),
        )
    return table


def _topology(engine: wire.EngineStatus) -> str:
    if not engine.reachable:
        return "[red]unreachable[/]"
    if engine.bypass:
        return "[yellow]bypass (fcfs)[/]"
    return f"[green]{escape(engine.topology or UNKNOWN)}[/]"


def _directive(engine: wire.EngineStatus) -> str:
    if engine.directive is None:
        return UNKNOWN
    color = "green" if engine.directive.ack is wire.AckState.ACK else "yellow"
    return f"{engine.directive.version} [{color}]{engine.directive.ack}[/]"


def _number(value: float | None, missing: str = UNKNOWN) -> str:
    return missing if value is None else f"{value:g}"


def _share(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.0%}"


def notes(status: wire.FleetStatus, health: wire.HealthOut) -> Iterator[str]:
    """Why each engine runs what it runs, overrides in force, and what is wrong."""
    for engine in status.engines:
        yield f"{escape(engine.engine_id)}: {escape(engine.sentence)}"
    for override in status.overrides:
        left = duration_words(override.remaining_s) if override.remaining_s else "until removed"
        what = override.topology or override.kind.value
        target = "all engines" if override.engine_id == wire.ALL_ENGINES else override.engine_id
        yield (
            f"[cyan]{override.kind}[/] {escape(what)} on {escape(target)} by "
            f"{escape(override.owner)} ({left}): {escape(override.reason)}"
        )
    for problem in health.problems:
        yield f"[yellow]![/] {escape(problem)}"


def topologies(pool: Sequence[wire.TopologyOut], status: wire.FleetStatus) -> Table:
    """Ω, with the engines that run each."""
    table = _table("topology", "group", "fights", "hints", "active on")
    for topology in pool:
        hints = [f"{hint.name} {hint.minimum:g}..{hint.maximum:g}" for hint in topology.hints]
        active = [one.engine_id for one in status.engines if one.topology == topology.name]
        table.add_row(
            f"[bold]{escape(topology.name)}[/]",
            escape(topology.group),
            escape(topology.fights),
            escape(", ".join(hints)),
            escape(", ".join(active)),
        )
    return table


def decisions(rows: Sequence[wire.DecisionOut]) -> Table:
    """One line per decision; refused answers below."""
    table = _table("at (UTC)", "engine", "by", "decision")
    for row in rows:
        refused = [one for one in row.proposals if one.refusal is not None]
        lines = [escape(row.sentence)]
        for proposal in refused:
            assert proposal.refusal is not None
            detail = f"{proposal.source} refused, {proposal.refusal.kind}: "
            lines.append(f"[yellow]{escape(detail + proposal.refusal.detail)}[/]")
        at = strftime("%m-%d %H:%M:%S", gmtime(row.at_s))
        table.add_row(at, escape(row.engine_id), escape(row.source), "\n".join(lines))
    return table
