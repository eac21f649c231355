"""Ten thousand hostile requests through a real gateway: none breaks it, none makes it slow."""

from __future__ import annotations

import asyncio
import io
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator

import aiohttp
import pytest

from hmas.daemon.gateway.app import Surroundings
from hmas.daemon.gateway.local import LocalGateway, local_gateway
from hmas.daemon.gateway.metrics import TAGGING_BUCKETS
from hmas.daemon.gateway.settings import EngineTarget, GatewaySettings
from hmas.engine.simulator.echo import echo_server
from tests.system.hostile import Hostile, inputs

SEED = 20_260_701
COUNT = 10_000
LONG_ONES = 40
CLIENTS = 8
WITHIN_S = 240
"""A gateway that hangs must not hang the tests; on two idle cores they take eight seconds."""


@pytest.fixture
async def gateway() -> AsyncIterator[LocalGateway]:
    """Perception is timed by the CPU that it takes: other processes must not fail this test."""
    around = Surroundings(timer=time.thread_time)
    async with echo_server(chunks=1, interval_s=0.0) as port:
        target = EngineTarget.model_validate({"url": f"http://127.0.0.1:{port}"})
        settings = GatewaySettings(engines=(target,), access_log=False)
        async with local_gateway(settings, surroundings=around) as running:
            yield running


async def statuses(gateway: LocalGateway, waiting: Iterator[Hostile]) -> Counter[tuple[str, int]]:
    """Answers by kind of request and status."""
    found: Counter[tuple[str, int]] = Counter()

    async def client(session: aiohttp.ClientSession, mine: Iterator[Hostile]) -> None:
        for hostile in mine:
            headers = {"Content-Type": "application/json"} | hostile.headers
            url = gateway.url + hostile.path
            async with session.post(url, data=io.BytesIO(hostile.body), headers=headers) as answer:
                await answer.read()
                found[hostile.kind, answer.status] += 1

    async with aiohttp.ClientSession() as session, asyncio.TaskGroup() as group:
        for _ in range(CLIENTS):
            group.create_task(client(session, waiting))
    return found


def tagging_counts(gateway: LocalGateway) -> list[int]:
    """Requests tagged within each of the metric's buckets, the last one without an end."""
    (metric,) = gateway.app.metrics.tagging.collect()
    up_to = [int(sample.value) for sample in metric.samples if sample.name.endswith("_bucket")]
    return [high - low for low, high in zip([0, *up_to], up_to, strict=False)]


def p99_s(counts: list[int]) -> float:
    """Upper edge of the bucket that holds the 99th percentile."""
    edges = (*TAGGING_BUCKETS, float("inf"))
    seen = 0
    for edge, count in zip(edges, counts, strict=True):
        seen += count
        if seen >= 0.99 * sum(counts):
            return edge
    return float("inf")


async def test_ten_thousand_hostile_requests(gateway: LocalGateway) -> None:
    async with asyncio.timeout(WITHIN_S):
        found = await statuses(gateway, inputs(SEED, COUNT, LONG_ONES))
    assert sum(found.values()) == COUNT
    assert {kind: status for kind, status in found if status >= 500} == {}
    assert sum(count for (_, status), count in found.items() if status == 200) > COUNT / 4
    app = gateway.app
    assert app.metrics.internal_errors._value.get() == 0
    assert app.perception.classifier_errors == 0
    assert app.admission.inside == 0
    assert p99_s(tagging_counts(gateway)) <= app.settings.tagging_budget_ms / 1000


def test_the_same_seed_gives_the_same_requests() -> None:
    first, again = list(inputs(7, 300, 2)), list(inputs(7, 300, 2))
    assert first == again
    assert len({one.body for one in first}) > 250
    assert {one.kind for one in first} > {"plain", "huge", "nested", "binary", "wrong_types"}
    assert max(len(one.body) for one in first) > 300_000


def test_the_percentile_is_the_edge_of_its_bucket() -> None:
    counts = [0] * len(TAGGING_BUCKETS) + [0]
    counts[2], counts[5] = 990, 10
    assert p99_s(counts) == TAGGING_BUCKETS[2]
    counts[5] = 11
    assert p99_s(counts) == TAGGING_BUCKETS[5]
