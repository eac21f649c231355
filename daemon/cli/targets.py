"""Whom a command is for, and how its outcome is told."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel, ValidationError
from rich.markup import escape

from hmas.daemon import wire
from hmas.daemon.cli.client import AdminClient
from hmas.daemon.cli.context import out, print_json
from hmas.daemon.cli.durations import duration_words, parse_duration
from hmas.daemon.cli.exits import Exit, fail
from hmas.daemon.cli.waiting import Confirmation
from hmas.daemon.wire import ALL_ENGINES

R = TypeVar("R", bound=BaseModel)

_PATHS = {
    wire.OverrideKind.PIN: "/pins",
    wire.OverrideKind.CONTROLS: "/controls",
    wire.OverrideKind.BYPASS: "/bypass",
}
_OPTIONS = {"duration_s": "for", "engine_id": "engine"}
"""Fields of requests whose option has another name."""


def target_of(client: AdminClient, engine: str | None, *, all_engines: bool) -> str:
    """The engine named, all, or the only one there is."""
    if engine and all_engines:
        fail("--engine and --all exclude each other", Exit.USAGE)
    if engine or all_engines:
        return engine or ALL_ENGINES
    known = [one.engine_id for one in client.get("/engines", list[wire.EngineStatus])]
    if len(known) != 1:
        listed = ", ".join(known) or "none yet"
        fail(f"which engine? There are: {listed}", Exit.USAGE, fix="give --engine ID or --all")
    return known[0]


def where(target: str) -> str:
    return "all engines" if target == ALL_ENGINES else target


def seconds(duration: str | None) -> float | None:
    """``--for`` in seconds."""
    if duration is None:
        return None
    try:
        return parse_duration(duration)
    except ValueError as error:
        fail(f"--for {error}", Exit.USAGE)


def hint_of(text: str) -> tuple[str, float]:
    """``--hint name=value``."""
    name, separator, value = text.partition("=")
    try:
        number = float(value)
    except ValueError:
        separator = ""
    if not separator or not name:
        fail(f"--hint {text!r} is not NAME=NUMBER", Exit.USAGE)
    return name, number


def request_of(kind: type[R], **fields: object) -> R:
    """The request's model; what is wrong with it in words."""
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"]))
        option = _OPTIONS.get(field, field.replace("_", "-"))
        name = f"--{option}" if field else ""
        message = first["msg"].removeprefix("Value error, ")
        fail(f"{name} {message}".strip(), Exit.USAGE)


def cancel(
    client: AdminClient, kind: wire.OverrideKind, engine: str | None, *, all_engines: bool
) -> wire.OverrideChange:
    """Remove the override of this kind on the target, or the only one there is."""
    held = client.get("/overrides", wire.OverrideList).overrides
    target = ALL_ENGINES if all_engines else engine
    found = [one for one in held if one.kind is kind and target in (None, one.engine_id)]
    listed = ", ".join(sorted(where(one.engine_id) for one in held if one.kind is kind))
    asked = f" on {where(target)}" if target else ""
    if not found:
        fail(f"there is no {kind}{asked} to remove", fix=f"in force: {listed or 'none'}")
    if len(found) > 1:
        fail(f"which {kind}? In force on: {listed}", Exit.USAGE, fix="give --engine ID or --all")
    return client.delete(f"{_PATHS[kind]}/{found[0].id}", wire.OverrideChange)


def report(
    change: wire.OverrideChange, answers: list[Confirmation], done: str, *, json: bool
) -> None:
    """What was done and what the engines said; ends the command with 1 when one did not obey."""
    missing = [answer for answer in answers if not answer.confirmed]
    if json:
        told = [answer.as_dict() for answer in answers]
        print_json(change.model_dump(mode="json") | {"engines": told})
    else:
        left_s = change.override.remaining_s
        until = f" for {duration_words(left_s)}" if left_s else ""
        out.print(f"[green]{escape(done)}[/]{until}: {escape(change.override.reason)}")
        for answer in answers:
            out.print(f"  {escape(answer.sentence)}")
    if missing:
        fail(f"not confirmed by {', '.join(answer.engine_id for answer in missing)} in time")
