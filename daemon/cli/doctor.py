"""``hmas doctor``: what would stand in the way on this machine, each with its fix."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Iterator
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import httpx
import typer
from rich.markup import escape

from hmas.daemon.cli.client import AdminClient, AdminError, admin_token, admin_url
from hmas.daemon.cli.context import ConfigOption, JsonOption, out, print_json, settings_from
from hmas.daemon.cli.exits import Exit
from hmas.daemon.cli.findings import Check, Finding, Mark
from hmas.daemon.cli.live_models import gateway
from hmas.daemon.cli.models import models
from hmas.daemon.control.engines import is_held, live_sockets
from hmas.daemon.settings import Settings
from hmas.daemon.supervise.plan import first_engine, found_vllm, machine_has_gpu
from hmas.daemon.supervise.probe import is_free
from hmas.daemon.wire import FleetStatus
from hmas.engine.clock import SystemClock
from hmas.engine.link.config import MAX_IPC_PATH_BYTES
from hmas.storage import schema
from hmas.storage.connect import MEMORY_URL
from hmas.storage.errors import StorageError

NEEDED = ("aiohttp", "apscheduler", "fastapi", "msgspec", "openai", "pyzmq", "sqlalchemy")
PLAUSIBLE_FROM_S = 1_700_000_000
FREE_BYTES = 256 * 1024 * 1024


def packages(_: Settings) -> Iterator[Finding]:
    python = ".".join(map(str, sys.version_info[:3]))
    yield Finding("python", Mark.OK, python)
    for name in NEEDED:
        try:
            yield Finding("package", Mark.OK, f"{name} {version(name)}")
        except PackageNotFoundError:
            yield Finding("package", Mark.FAIL, f"{name} is missing", "pip install 'hmas[server]'")


def vllm(_: Settings) -> Iterator[Finding]:
    gpu = machine_has_gpu()
    yield Finding("gpu", Mark.OK if gpu else Mark.NOTE, "found" if gpu else "none found")
    program = found_vllm()
    if program is not None:
        yield Finding("vllm", Mark.OK, f"{program}, with H-MAS beside it")
        return
    bare = shutil.which("vllm")
    detail = f"{bare} has no H-MAS" if bare else "not found; 'hmas up' uses the simulator"
    fix = "pip install hmas into vLLM's environment" if bare else "see deploy/vllm/README.md"
    yield Finding("vllm", Mark.NOTE, detail, fix)


def directories(settings: Settings) -> Iterator[Finding]:
    for name in ("runtime_dir", "state_dir"):
        yield _directory(name, getattr(settings, name))
    socket = settings.runtime_dir / f"{first_engine(settings).engine_id}.control"
    length = len(os.fsencode(socket))
    if length > MAX_IPC_PATH_BYTES:
        detail = f"{socket} has {length} bytes, at most {MAX_IPC_PATH_BYTES} can be used"
        yield Finding("socket path", Mark.FAIL, detail, "set runtime_dir to a shorter path")


def _directory(name: str, path: Path) -> Finding:
    place = path
    while not place.exists():
        place = place.parent
    if not place.is_dir():
        fix = f"choose another {name}, or remove that file"
        return Finding(name, Mark.FAIL, f"{place} is not a directory", fix)
    if not os.access(place, os.W_OK):
        fix = f"choose another {name}, or give this user {place}"
        return Finding(name, Mark.FAIL, f"{place} cannot be written", fix)
    if place == path and path.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return Finding(name, Mark.FAIL, f"{path}: others can write", f"chmod 700 {path}")
    free = shutil.disk_usage(place).free
    if free < FREE_BYTES:
        return Finding(name, Mark.FAIL, f"{place}: {free // 2**20} MiB free", "make room")
    return Finding(name, Mark.OK, str(path))


def ports(settings: Settings) -> Iterator[Finding]:
    for name in ("gateway", "admin", "console"):
        section = getattr(settings, name)
        where = f"{section.host}:{section.port}"
        if is_free(section.host, section.port):
            yield Finding(f"{name} port", Mark.OK, f"{where} is free")
        else:
            fix = f"if that is not ours: set {name}.port"
            yield Finding(f"{name} port", Mark.NOTE, f"{where} is in use", fix)


def database(settings: Settings) -> Iterator[Finding]:
    url = settings.storage_url
    if url == MEMORY_URL:
        fix = "set storage.url to keep pins and D_b over a restart"
        yield Finding("database", Mark.NOTE, "memory only", fix)
        return
    if url.startswith("sqlite:///") and not Path(url.removeprefix("sqlite:///")).exists():
        yield Finding("database", Mark.OK, "SQLite, made at the first start")
        return
    try:
        found = schema.check(url)
    except StorageError as error:
        yield Finding("database", Mark.FAIL, str(error), "see storage.url")
        return
    fix = "" if found.ok else "hmas db upgrade"
    yield Finding("database", Mark.OK if found.ok else Mark.FAIL, found.sentence, fix)


def links(settings: Settings) -> Iterator[Finding]:
    runs = is_held(settings.runtime_dir / "daemon.lock")
    detail = "a daemon runs here" if runs else "no daemon runs here"
    yield Finding("daemon", Mark.OK if runs else Mark.NOTE, detail, "" if runs else "hmas daemon")
    live = live_sockets(settings.runtime_dir)
    names = ", ".join(config.engine_id for config in live) or "none"
    yield Finding("engines", Mark.OK if live else Mark.NOTE, f"control sockets: {names}")
    if runs:
        yield from _fleet(settings)


def _fleet(settings: Settings) -> Iterator[Finding]:
    client = AdminClient(admin_url(settings), admin_token(settings))
    try:
        fleet = client.get("/status", FleetStatus)
    except AdminError as error:
        yield Finding("admin API", Mark.FAIL, str(error), error.fix)
        return
    finally:
        client.close()
    yield Finding("admin API", Mark.OK, client.url)
    skew_s = abs(SystemClock().now_s() - fleet.now_s)
    if skew_s > 5:
        yield Finding("clock", Mark.FAIL, f"{skew_s:.0f} s away from the daemon's", "run NTP")
    for engine in fleet.engines:
        if not engine.reachable:
            yield Finding("engine", Mark.FAIL, f"{engine.engine_id}: {engine.sentence}")


def clock(_: Settings) -> Iterator[Finding]:
    now_s = SystemClock().now_s()
    if now_s < PLAUSIBLE_FROM_S:
        yield Finding("clock", Mark.FAIL, f"it is {now_s:.0f} s since 1970", "set the clock")


def upstream(settings: Settings) -> Iterator[Finding]:
    for target in settings.gateway_settings().engines:
        try:
            response = httpx.get(f"{target.base_url}/health", timeout=2.0, trust_env=False)
        except httpx.HTTPError as error:
            detail = f"{target.base_url}: {str(error) or type(error).__name__}"
            yield Finding("engine API", Mark.NOTE, detail, "start it: hmas engine --help")
            continue
        mark = Mark.OK if response.is_success else Mark.FAIL
        yield Finding("engine API", mark, f"{target.base_url} answers {response.status_code}")


CHECKS: tuple[Check, ...] = (
    packages,
    clock,
    directories,
    ports,
    database,
    vllm,
    links,
    upstream,
    models,
    gateway,
)


def doctor(*, config: ConfigOption = None, json: JsonOption = False) -> None:
    """Check versions, directories, ports, database, vLLM, links, models and the clock.

    Where the gateway answers: how right its predictions are, and which model makes them.

    Exit code 1 when something fails. Example: hmas doctor --json
    """
    settings = settings_from(config).settings
    findings = [finding for check in CHECKS for finding in check(settings)]
    if json:
        print_json([asdict(finding) for finding in findings])
    else:
        colors = {Mark.OK: "green", Mark.NOTE: "yellow", Mark.FAIL: "red"}
        for finding in findings:
            color = colors[finding.mark]
            said = f"{finding.check}: {finding.detail}"
            fix = f" -> {finding.fix}" if finding.fix else ""
            out.print(f"[{color}]{finding.mark:<5}[/]{escape(said)}[dim]{escape(fix)}[/]")
    if any(finding.mark is Mark.FAIL for finding in findings):
        raise typer.Exit(Exit.FAILED)
