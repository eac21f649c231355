"""A slow perception never delays dispatch, through a real gateway."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import aiohttp

from hmas.bench.scripted_engine import ScriptedEngine
from hmas.controllers.perception.chain import Guess
from hmas.controllers.perception.incoming import Prompt
from hmas.daemon.gateway.app import Surroundings
from hmas.daemon.gateway.local import LocalGateway
from hmas.daemon.gateway.masking import DelayedClassifier, LearnedStage
from hmas.daemon.gateway.settings import GatewaySettings
from hmas.engine.features import TaskType

StartGateway = Callable[..., Awaitable[LocalGateway]]
DELAY_MS = 50.0
SILENT = {"model": "tiny", "prompt": "zq xv"}
"""A prompt that rules say nothing of: the learned stage would be asked."""


class Sleepy:
    """A classifier whose delay changes while the gateway runs."""

    def __init__(self) -> None:
        self.delay_s = 0.0
        self.asked = 0

    def classify(self, prompt: Prompt, budget_s: float) -> Guess | None:
        self.asked += 1
        time.sleep(self.delay_s)
        return Guess(TaskType.QA, 0.9)


async def asked(gateway: LocalGateway, count: int) -> list[tuple[float, str]]:
    """Milliseconds before dispatch and the task type of each of ``count`` requests."""
    found = []
    async with aiohttp.ClientSession() as session:
        for _ in range(count):
            async with session.post(f"{gateway.url}/v1/completions", json=SILENT) as answer:
                assert answer.status == 200
                headers = answer.headers
                found.append((float(headers["X-Hmas-Queue-Ms"]), headers["X-Hmas-Task-Type"]))
    return found


async def test_no_request_pays_for_the_fault_switch(
    engine: ScriptedEngine, start: StartGateway
) -> None:
    sleepy = Sleepy()
    gateway = await start(
        engine,
        surroundings=Surroundings(classifier=sleepy),
        faults={"perception_delay_ms": DELAY_MS},
    )
    found = await asked(gateway, 60)
    waits_ms = sorted(wait_ms for wait_ms, _ in found)
    assert {task for _, task in found} == {"Unknown"}
    # Beyond the budget there is only what the machine's own scheduling adds.
    assert waits_ms[int(0.8 * len(waits_ms))] < gateway.app.settings.tagging_budget_ms + 3
    punctual = gateway.app.learned.punctual
    assert punctual is not None
    # Where rules alone used the budget up, on a busy machine, it is not even its turn.
    assert punctual.asked == 0
    assert 0 < punctual.skipped <= len(found)


async def test_without_the_fault_the_same_stage_answers(
    engine: ScriptedEngine, start: StartGateway
) -> None:
    gateway = await start(
        engine, surroundings=Surroundings(classifier=Sleepy()), tagging_budget_ms=20
    )
    assert {task for _, task in await asked(gateway, 10)} == {"QA"}


async def test_a_stage_that_turns_slow_delays_two_requests_and_comes_back(
    engine: ScriptedEngine, start: StartGateway
) -> None:
    sleepy = Sleepy()
    gateway = await start(
        engine, surroundings=Surroundings(classifier=sleepy), tagging_budget_ms=20
    )
    await asked(gateway, 5)
    sleepy.delay_s = DELAY_MS / 1000
    found = await asked(gateway, 30)
    assert sum(wait_ms >= DELAY_MS for wait_ms, _ in found) <= 2
    assert found[-1][1] == "Unknown"
    sleepy.delay_s = 0.0
    async with asyncio.timeout(20):
        while (await asked(gateway, 1))[0][1] != "QA":  # noqa: ASYNC110
            await asyncio.sleep(0.05)


def test_the_fault_switch_delays_whatever_is_there() -> None:
    slept: list[float] = []
    delayed = DelayedClassifier(Sleepy(), 0.05, slept.append)
    assert delayed.classify(Prompt(), 1.0) == Guess(TaskType.QA, 0.9)
    assert DelayedClassifier(None, 0.05, slept.append).classify(Prompt(), 1.0) is None
    assert slept == [0.05, 0.05]


async def test_what_clients_say_is_what_the_classifier_is_scored_on(
    engine: ScriptedEngine, start: StartGateway
) -> None:
    gateway = await start(
        engine, surroundings=Surroundings(classifier=Sleepy()), tagging_budget_ms=20
    )
    learned = gateway.app.learned
    async with asyncio.timeout(20), aiohttp.ClientSession() as session:
        for number, claim in enumerate(("QA", "Translation"), 1):
            said = {"X-Hmas-Task-Type": claim}
            async with session.post(
                f"{gateway.url}/v1/completions", json=SILENT, headers=said
            ) as answer:
                assert answer.headers["X-Hmas-Task-Type"] == claim
            while learned.scores.scored < number:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
    found = learned.scores.accuracy()
    assert found is not None
    assert (found.requests, found.right, found.unknown) == (2, 0.5, 0.0)
    gateway.app.learning.sync()
    assert "hmas_gateway_task_accuracy_ratio 0.5" in gateway.app.metrics.scrape().decode()


async def test_without_a_classifier_there_is_nothing_to_measure() -> None:
    stage = LearnedStage(None, GatewaySettings())
    await stage.rehearse()
    await stage.run()
    assert (stage.classifier, stage.skipped) == (None, 0)
