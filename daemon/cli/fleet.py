"""Commands that look at the fleet and steer it: through the admin API, like the console."""

from __future__ import annotations

from typing import Annotated

import typer

from hmas.daemon import wire
from hmas.daemon.cli import tables
from hmas.daemon.cli.context import (
    ConfigOption,
    JsonOption,
    TokenOption,
    UrlOption,
    admin,
    out,
    print_json,
)
from hmas.daemon.cli.exits import Exit, fail
from hmas.daemon.cli.targets import (
    cancel,
    hint_of,
    report,
    request_of,
    seconds,
    target_of,
    where,
)
from hmas.daemon.cli.waiting import wait_for

EngineOption = Annotated[
    str | None, typer.Option("--engine", "-e", help="Engine id; with one engine not needed.")
]
AllOption = Annotated[bool, typer.Option("--all", help="All engines, also those to come.")]
ReasonOption = Annotated[
    str, typer.Option("--reason", "-r", help="Why, for whoever is on call next.")
]
ForOption = Annotated[
    str | None, typer.Option("--for", metavar="30m", help="How long; default: until removed.")
]
WaitOption = Annotated[
    float, typer.Option("--wait", help="Seconds to wait for the engine's answer; 0: do not.")
]


def status(
    *,
    config: ConfigOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    json: JsonOption = False,
) -> None:
    """Show what every engine runs, who set it and why.

    Example: hmas status --json
    """
    with admin(config, url, token) as client:
        fleet = client.get("/status", wire.FleetStatus)
        health = client.get("/health", wire.HealthOut)
    if json:
        print_json(fleet.model_dump(mode="json") | {"health": health.model_dump(mode="json")})
        return
    out.print(tables.fleet(fleet))
    for line in tables.notes(fleet, health):
        out.print(line)


def topology(
    *,
    config: ConfigOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    json: JsonOption = False,
) -> None:
    """List the queue topologies, what each fights, and where it is active.

    Example: hmas topology
    """
    with admin(config, url, token) as client:
        pool = client.get("/topologies", list[wire.TopologyOut])
        fleet = client.get("/status", wire.FleetStatus)
    if json:
        active = {engine.engine_id: engine.topology for engine in fleet.engines}
        print_json({"topologies": [one.model_dump(mode="json") for one in pool], "active": active})
        return
    out.print(tables.topologies(pool, fleet))


def pin(
    name: Annotated[str, typer.Argument(metavar="TOPOLOGY", help="See 'hmas topology'.")],
    *,
    reason: ReasonOption,
    engine: EngineOption = None,
    all_engines: AllOption = False,
    duration: ForOption = None,
    hint: Annotated[
        list[str] | None, typer.Option("--hint", metavar="NAME=VALUE", help="May be repeated.")
    ] = None,
    wait: WaitOption = 5.0,
    config: ConfigOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    json: JsonOption = False,
) -> None:
    """Hold one topology against the meta-controller (a bypass still wins over a pin).

    Example: hmas pin edf --engine engine0 --reason "deadline misses since 14:00" --for 30m
    """
    hints = dict(hint_of(text) for text in hint or ())
    duration_s = seconds(duration)
    with admin(config, url, token) as client:
        target = target_of(client, engine, all_engines=all_engines)
        request = request_of(
            wire.PinRequest,
            engine_id=target,
            topology=name,
            hints=hints,
            reason=reason,
            duration_s=duration_s,
        )
        change = client.post("/pins", request, wire.OverrideChange)
        results = wait_for(client, target, wait, lambda one: one.topology == name)
    report(change, results, f"pinned {name} on {where(target)}", json=json)


def unpin(
    *,
    engine: EngineOption = None,
    all_engines: AllOption = False,
    config: ConfigOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    json: JsonOption = False,
) -> None:
    """Remove a pin: the meta-controller decides again.

    Example: hmas unpin --engine engine0
    """
    with admin(config, url, token) as client:
        change = cancel(client, wire.OverrideKind.PIN, engine, all_engines=all_engines)
    report(change, [], f"removed the pin of {where(change.override.engine_id)}", json=json)


def set_controls(
    *,
    n_run: Annotated[int | None, typer.Option("--n-run", help="N_run: requests at once.")] = None,
    token_budget: Annotated[
        int | None, typer.Option("--token-budget", help="B_token: tokens of one step.")
    ] = None,
    release: Annotated[
        bool, typer.Option("--release", help="Give both back to the controllers.")
    ] = False,
    reason: Annotated[str, typer.Option("--reason", "-r", help="Why.")] = "",
    engine: EngineOption = None,
    all_engines: AllOption = False,
    duration: ForOption = None,
    wait: WaitOption = 5.0,
    config: ConfigOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    json: JsonOption = False,
) -> None:
    """Fix N_run, B_token or both, or release them.

    Example: hmas set --n-run 32 --reason "KV cache thrashes" --for 1h
    """
    kind = wire.OverrideKind.CONTROLS
    duration_s = seconds(duration)
    with admin(config, url, token) as client:
        if release:
            change = cancel(client, kind, engine, all_engines=all_engines)
            report(change, [], f"released {where(change.override.engine_id)}", json=json)
            return
        target = target_of(client, engine, all_engines=all_engines)
        request = request_of(
            wire.ControlsRequest,
            engine_id=target,
            n_run=n_run,
            token_budget=token_budget,
            reason=reason,
            duration_s=duration_s,
        )
        change = client.post("/controls", request, wire.OverrideChange)
        results = wait_for(client, target, wait, lambda one: _has(one, n_run, token_budget))
    report(change, results, f"set controls of {where(target)}", json=json)


def bypass(
    switch: Annotated[str, typer.Argument(metavar="on|off", help="on: plain FCFS at once.")],
    *,
    reason: Annotated[str, typer.Option("--reason", "-r", help="Why; needed for on.")] = "",
    engine: EngineOption = None,
    all_engines: AllOption = False,
    duration: ForOption = None,
    wait: WaitOption = 5.0,
    config: ConfigOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    json: JsonOption = False,
) -> None:
    """The kill switch: plain FCFS with unbounded controls, over everything else.

    Example: hmas bypass on --all --reason "incident 4711" --for 10m
    """
    if switch not in ("on", "off"):
        fail(f"{switch!r} is neither on nor off", Exit.USAGE)
    duration_s = seconds(duration)
    with admin(config, url, token) as client:
        if switch == "off":
            change = cancel(client, wire.OverrideKind.BYPASS, engine, all_engines=all_engines)
            report(change, [], f"bypass off, {where(change.override.engine_id)}", json=json)
            return
        target = target_of(client, engine, all_engines=all_engines)
        request = request_of(
            wire.BypassRequest, engine_id=target, reason=reason, duration_s=duration_s
        )
        change = client.post("/bypass", request, wire.OverrideChange)
        results = wait_for(client, target, wait, lambda one: one.bypass)
    report(change, results, f"bypass on, {where(target)}", json=json)


def decisions(
    *,
    engine: EngineOption = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000)] = 20,
    config: ConfigOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    json: JsonOption = False,
) -> None:
    """List what the meta-controllers decided, newest first, with refusals.

    Example: hmas decisions --engine engine0 --limit 5
    """
    with admin(config, url, token) as client:
        rows = client.get("/decisions", list[wire.DecisionOut], engine_id=engine, limit=limit)
    if json:
        print_json(rows)
        return
    out.print(tables.decisions(rows) if rows else "no decisions yet")


def _has(engine: wire.EngineStatus, n_run: int | None, token_budget: int | None) -> bool:
    return n_run in (None, engine.n_run) and token_budget in (None, engine.token_budget)
