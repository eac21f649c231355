"""Tables for people: nothing unknown is invented, nothing from outside is markup."""

from __future__ import annotations

import io

from rich.console import Console, RenderableType

from hmas.daemon import wire
from hmas.daemon.cli import tables
from hmas.daemon.cli.targets import where

NOW_S = 1_790_000_000.0


def drawn(what: RenderableType) -> str:
    console = Console(file=io.StringIO(), width=200)
    console.print(what)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def row_of(engine: wire.EngineStatus) -> list[str]:
    return drawn(tables.fleet(fleet(engine))).splitlines()[-2].split()


def fleet(
    *engines: wire.EngineStatus, overrides: tuple[wire.OverrideOut, ...] = ()
) -> wire.FleetStatus:
    return wire.FleetStatus(
        now_s=NOW_S,
        started_at_s=NOW_S,
        version="1",
        revision=1,
        engines=engines,
        overrides=overrides,
        meta_mode="rules",
    )


def test_an_engine_never_reached_shows_only_that() -> None:
    row = row_of(wire.EngineStatus(engine_id="engine0", reachable=False))
    assert row[:2] == ["engine0", "unreachable"]
    assert row[-2:] == ["unbounded", "unbounded"]
    assert "-" in row


def test_bypass_is_shown_instead_of_the_topology() -> None:
    engine = wire.EngineStatus(engine_id="e", reachable=True, topology="edf", bypass=True)
    assert row_of(engine)[1:3] == ["bypass", "(fcfs)"]


def test_a_directive_without_an_answer_says_so() -> None:
    directive = wire.DirectiveState(
        version=7, issued_at_s=NOW_S, ttl_s=5, age_s=1, ack=wire.AckState.NACK, reason="no"
    )
    engine = wire.EngineStatus(engine_id="e", reachable=True, topology="edf", directive=directive)
    assert "7 nack" in " ".join(row_of(engine))


def test_names_from_outside_are_no_markup() -> None:
    engine = wire.EngineStatus(engine_id="[red]e[/]", reachable=True, topology="edf")
    assert "[red]e[/]" in drawn(tables.fleet(fleet(engine)))
    decision = wire.DecisionOut(
        id="d",
        at_s=NOW_S,
        engine_id="[b]",
        sentence="[blink]switch",
        source="llm",
        proposals=(
            wire.ProposalOut(
                source="llm",
                primary=True,
                refusal=wire.RefusalOut(kind="not-json", detail="[/] Sure!"),
            ),
        ),
    )
    shown = drawn(tables.decisions([decision]))
    assert "[blink]switch" in shown
    assert "llm refused, not-json: [/] Sure!" in shown


def test_notes_name_overrides_with_their_end() -> None:
    held = wire.OverrideOut(
        id="1",
        kind=wire.OverrideKind.BYPASS,
        engine_id=wire.ALL_ENGINES,
        owner="ada",
        reason="incident",
        created_at_s=NOW_S,
        remaining_s=600,
    )
    until_removed = held.model_copy(
        update={"kind": wire.OverrideKind.PIN, "topology": "edf", "remaining_s": None}
    )
    health = wire.HealthOut(
        ready=False,
        storage=wire.StorageHealth(ok=False, kind="sqlite"),
        problems=("the database does not answer",),
    )
    lines = [
        Console(file=io.StringIO()).render_str(line).plain
        for line in tables.notes(fleet(overrides=(held, until_removed)), health)
    ]
    assert lines == [
        "bypass bypass on all engines by ada (10m): incident",
        "pin edf on all engines by ada (until removed): incident",
        "! the database does not answer",
    ]
    assert where("engine0") == "engine0"
