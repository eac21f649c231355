"""The daemon as a whole, in this process: starts, controls, answers, reloads, resumes, ends."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from hmas.daemon.config.problems import Problem, SettingsError
from hmas.daemon.control.service import Daemon, opened
from hmas.daemon.settings import Settings, load_settings
from hmas.daemon.supervise.notify import Notifier
from hmas.daemon.tasks import Tasks
from hmas.engine.clock import SystemClock
from tests.daemon.control.support import served_engine, until


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


def settings_in(directory: Path, **flags: Any) -> Settings:
    given = {
        "runtime_dir": str(directory / "run"),
        "state_dir": str(directory / "state"),
        "admin.port": free_port(),
        "control.cycle_s": 0.05,
        "daemon.discover_s": 0.1,
        "daemon.resume_every_s": 0.2,
    }
    return load_settings(environ={"HOME": str(directory)}, flags=given | flags).settings


class Told(Notifier):
    """What systemd would hear."""

    def __init__(self) -> None:
        super().__init__({})
        self.watchdog_s = 0.02
        self.messages: list[str] = []

    def _send(self, message: str) -> None:
        self.messages.append(message)


class Client:
    """The admin API of one daemon."""

    def __init__(self, settings: Settings) -> None:
        token = settings.token_file.read_text().strip()
        self.http = httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{settings.admin.port}",
            headers={"Authorization": f"Bearer {token}"},
            trust_env=False,
        )

    async def get(self, path: str) -> Any:
        return (await self.http.get(path)).raise_for_status().json()

    async def engine(self) -> dict[str, Any]:
        engines = (await self.get("/hmas/v1/status"))["engines"]
        return engines[0] if engines else {}

    async def runs(self, topology: str) -> bool:
        engine = await self.engine()
        return engine.get("topology") == topology and engine["directive"]["ack"] == "ack"


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[tuple[Daemon, Client, Told]]:
    told = Told()
    daemon = Daemon(settings, SystemClock(), told)
    tasks = Tasks()
    task = tasks.start(daemon.run(), name="daemon")
    await until(lambda: task.done() or bool(told.messages), "ready")
    if task.done():
        task.result()
    client = Client(settings)
    try:
        yield daemon, client, told
    finally:
        await client.http.aclose()
        daemon.stop()
        async with asyncio.timeout(20):
            await task


async def test_it_controls_obeys_and_resumes(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    with served_engine(settings.runtime_dir, SystemClock()) as (_, core):
        async with running(settings) as (_, client, told):
            assert told.messages[0].startswith("READY=1")
            await until(lambda: core.directive is not None, "a first directive")
            pin = {"topology": "wfq", "reason": "unfair", "duration_s": 600}
            response = await client.http.post("/hmas/v1/pins", json=pin)
            assert response.status_code == 200, response.text
            await until(lambda: client.runs("wfq"), "the pin at the engine")
            await until(lambda: "WATCHDOG=1" in told.messages, "a sign of life for systemd")
        assert "STOPPING=1" in told.messages
        version = core.active_version
        async with running(settings) as (_, client, _):
            await until(lambda: core.active_version > version, "a higher version")
            await until(lambda: client.runs("wfq"), "the pin again")
            engine = await client.engine()
            assert engine["set_by"] == "local"
            audit = await client.get("/hmas/v1/audit")
            assert [row["action"] for row in audit if row["actor"] == "daemon"] == [
                "start",
                "start",
            ]


async def test_an_address_in_use_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings = settings_in(tmp_path, **{"admin.port": taken.getsockname()[1]})
        with pytest.raises(SettingsError, match=r"admin\.port: cannot listen on 127\.0\.0\.1"):
            async with running(settings):
                pass


async def test_a_wrong_database_url_is_named(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, **{"storage.url": "mysql://op:secret@db/x"})
    with pytest.raises(SettingsError, match=r"storage\.url: .*mysql") as caught:
        opened(settings)
    assert "secret" not in str(caught.value)


async def test_it_runs_without_its_database_and_uses_it_when_it_comes(tmp_path: Path) -> None:
    blocked = tmp_path / "db"
    blocked.write_text("not a directory")
    settings = settings_in(tmp_path, **{"storage.url": f"sqlite:///{blocked}/hmas.db"})
    with served_engine(settings.runtime_dir, SystemClock()) as (_, core):
        async with running(settings) as (_, client, _):
            await until(lambda: core.directive is not None, "a directive without a database")

            async def complains() -> bool:
                health = await client.get("/hmas/v1/health")
                return not health["storage"]["ok"]

            await until(complains, "health tells of the database")
            response = await client.http.get("/hmas/v1/decisions")
            assert response.status_code == 503
            blocked.unlink()

            async def recovered() -> bool:
                health = await client.get("/hmas/v1/health")
                return bool(health["storage"]["ok"])

            await until(recovered, "records are written", timeout_s=40.0)


async def test_a_reload_takes_up_all_or_nothing(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    with served_engine(settings.runtime_dir, SystemClock()) as (_, core):
        async with running(settings) as (daemon, client, told):
            await until(lambda: core.directive is not None, "a first directive")

            def refused() -> Settings:
                raise SettingsError([Problem("control.cycle_s", "file", "must be positive")])

            daemon.reload(refused)
            assert daemon.settings is settings
            changed = settings_in(
                tmp_path, **{"admin.port": settings.admin.port, "control.ttl_s": 9.0}
            )
            daemon.reload(lambda: changed)
            await until(lambda: core.directive.ttl_s == 9.0, "the new lease")  # type: ignore[union-attr]
            metrics = (await client.http.get("/metrics")).text
            assert 'hmas_config_reload_total{result="refused"} 1.0' in metrics
            assert 'hmas_config_reload_total{result="done"} 1.0' in metrics
            assert [m for m in told.messages if m.startswith("RELOADING=1")]
            audit = await client.get("/hmas/v1/audit")
            results = [row["result"] for row in audit if row["action"] == "reload"]
            assert results[0].startswith("changed: control")
            assert "must be positive" in results[1]


async def test_the_admin_api_can_be_off(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, **{"admin.enabled": False})
    settings.token_file.parent.mkdir(parents=True)
    settings.token_file.write_text("unused-token-of-16")
    with served_engine(settings.runtime_dir, SystemClock()) as (_, core):
        async with running(settings) as (_, client, _):
            await until(lambda: core.directive is not None, "a first directive")
            with pytest.raises(httpx.ConnectError):
                await client.get("/livez")
