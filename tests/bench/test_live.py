from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web
from aiohttp.test_utils import TestServer

from hmas.bench.live import Progress, replay_live
from hmas.bench.slo import WorkloadRequest
from hmas.bench.stream import LiveTarget
from hmas.engine.features import RequestFeatures


def workload(count: int, gap_s: float = 0.01) -> list[WorkloadRequest]:
    return [
        WorkloadRequest(
            RequestFeatures(request_id=f"r{index}", arrival_s=index * gap_s, prompt_tokens=4), 3
        )
        for index in range(count)
    ]


class TinyEngine:
    """Streams what is asked for; refuses ``r1`` and breaks off ``r2`` when told to be bad."""

    def __init__(self, *, bad: bool = False) -> None:
        self.bad = bad
        self.open = 0
        self.most_open = 0
        self.release = asyncio.Event()

    async def complete(self, request: web.Request) -> web.StreamResponse:
        name = request.headers["x-request-id"]
        if self.bad and name == "r1":
            return web.json_response({"error": {"message": "full"}}, status=429)
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        await self.release.wait()
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        for _ in range((await request.json())["max_tokens"]):
            await response.write(
                b"data: " + json.dumps({"choices": [{"text": "x"}]}).encode() + b"\n\n"
            )
        if not (self.bad and name == "r2"):
            await response.write(b"data: [DONE]\n\n")
        self.open -= 1
        return response


@asynccontextmanager
async def serving(engine: TinyEngine) -> AsyncIterator[LiveTarget]:
    app = web.Application()
    app.router.add_post("/v1/completions", engine.complete)
    async with TestServer(app) as server:
        yield LiveTarget(str(server.make_url("")), "m", timeout_s=20)


async def test_open_loop_sends_all_while_the_first_still_waits() -> None:
    engine = TinyEngine()
    seen: list[Progress] = []

    def watch(progress: Progress) -> None:
        seen.append(progress)
        if progress.sent == 20 or engine.open == 20:
            engine.release.set()

    async with serving(engine) as target:
        report = await replay_live(workload(20), target, watch)
    assert engine.most_open == 20
    assert report.lost == 0
    assert not report.errors
    assert report.summary().completed == 20
    assert all(result.output_tokens == 3 for result in report.results)
    assert seen[-1].done == seen[-1].requests == 20


async def test_failures_are_lost_requests_with_a_reason() -> None:
    engine = TinyEngine(bad=True)
    engine.release.set()
    async with serving(engine) as target:
        report = await replay_live(workload(4), target)
    assert report.lost == 2
    assert [result.finished for result in report.results] == [True, False, False, True]
    assert sum(report.errors.values()) == 2
    assert any("429" in reason for reason in report.errors)


async def test_a_server_that_is_not_there_loses_all() -> None:
    report = await replay_live(workload(2), LiveTarget("http://127.0.0.1:9", "m", timeout_s=5))
    assert report.lost == 2
