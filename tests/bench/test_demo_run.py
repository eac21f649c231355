from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from hmas.bench.demo_run import DemoControl, DemoError, DemoRunner
from hmas.bench.slo import WorkloadRequest
from hmas.bench.stream import LiveTarget
from hmas.daemon.cli.client import AdminClient
from hmas.engine.clock import FakeClock
from hmas.engine.features import RequestFeatures

NOW_S = 1000.0
OVERRIDE = {
    "id": "7",
    "kind": "bypass",
    "engine_id": "*",
    "owner": "demo",
    "reason": "demo",
    "created_at_s": NOW_S,
}


class FakeDaemon:
    """Just enough of the admin API: a kill switch, one engine, one switch, one rollback."""

    def __init__(self, *, obeys: bool = True) -> None:
        self.held: list[str] = []
        self.asked: list[str] = []
        self.obeys = obeys

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix("/hmas/v1")
        self.asked.append(f"{request.method} {path}")
        return httpx.Response(200, json=self.answer(request.method, path))

    def answer(self, method: str, path: str) -> Any:
        if path.startswith("/bypass"):
            self.held = ["7"] if method == "POST" else []
            return {"override": OVERRIDE, "revision": 1}
        if path == "/status":
            return self.status()
        if path == "/guards":
            event = {
                "id": "1",
                "at_s": NOW_S,
                "engine_id": "engine0",
                "guard": "rollback",
                "verdict": "fail",
                "sentence": "rollback",
            }
            return [event, {**event, "verdict": "pass"}]
        point = {"window_s": 1, "at_s": NOW_S}
        switch = {"engine_id": "engine0", "owner": "meta", "sentence": "s", "at_s": NOW_S}
        return {
            "engine_id": "engine0",
            "horizon": "short",
            "short": [{**point, "topology": name} for name in ("fcfs", "edf", "edf")],
            "switches": [
                {**switch, "before": "fcfs", "after": "edf"},
                {**switch, "before": "fcfs", "after": "sjf", "at_s": NOW_S - 1},
            ],
        }

    def status(self) -> dict[str, object]:
        engine = {
            "engine_id": "engine0",
            "reachable": True,
            "bypass": bool(self.held) and self.obeys,
            "directive": {
                "version": 3,
                "issued_at_s": NOW_S,
                "ttl_s": 5,
                "age_s": 0.1,
                "ack": "ack",
            },
        }
        return {
            "now_s": NOW_S,
            "started_at_s": 0,
            "version": "0",
            "revision": 1,
            "engines": [engine],
            "overrides": [OVERRIDE] if self.held else [],
        }


@asynccontextmanager
async def gateway() -> AsyncIterator[LiveTarget]:
    async def complete(_: web.Request) -> web.Response:
        chunk = json.dumps({"choices": [{"text": "x"}]})
        return web.Response(
            text=f"data: {chunk}\n\ndata: [DONE]\n\n", content_type="text/event-stream"
        )

    app = web.Application()
    app.router.add_post("/v1/completions", complete)
    async with TestServer(app) as server:
        yield LiveTarget(str(server.make_url("")), "m")


def runner(daemon: FakeDaemon, target: LiveTarget) -> DemoRunner:
    admin = AdminClient("http://admin", None, transport=httpx.MockTransport(daemon))
    return DemoRunner(admin, target, "engine0", FakeClock(NOW_S), settle_s=0.0, ready_timeout_s=0.3)


def requests(count: int) -> list[WorkloadRequest]:
    return [
        WorkloadRequest(RequestFeatures(request_id=f"r{i}", arrival_s=0.0, prompt_tokens=3), 1)
        for i in range(count)
    ]


async def test_fcfs_runs_under_the_kill_switch_and_hmas_without() -> None:
    daemon = FakeDaemon()
    async with gateway() as target:
        fcfs = await runner(daemon, target).run(DemoControl.FCFS, requests(5))
        held = list(daemon.held)
        await runner(daemon, target).run(DemoControl.HMAS, requests(5))
    assert held == ["7"]
    assert daemon.held == []
    assert [asked for asked in daemon.asked if "/bypass" in asked] == [
        "POST /bypass",
        "DELETE /bypass/7",
    ]
    assert fcfs.live.lost == 0
    assert fcfs.control is DemoControl.FCFS


async def test_swaps_and_rollbacks_of_the_run_are_counted() -> None:
    daemon = FakeDaemon()
    async with gateway() as target:
        result = await runner(daemon, target).run(DemoControl.HMAS, requests(3))
    assert (result.swaps, result.rollbacks) == (1, 1)
    assert result.topologies == ("fcfs", "edf")


async def test_an_engine_that_does_not_obey_ends_the_demo() -> None:
    daemon = FakeDaemon(obeys=False)
    async with gateway() as target:
        with pytest.raises(DemoError, match="engine0 did not switch to plain FCFS"):
            await runner(daemon, target).run(DemoControl.FCFS, requests(1))
