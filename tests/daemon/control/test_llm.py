"""The LLM may do what it wants: a valid proposal, or a refusal that says what was wrong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from hmas.bench.scripted_llm import Failure, ScriptedLlm, answer, served
from hmas.controllers.config import ControlConfig
from hmas.controllers.meta.base import MetaContext, Proposal, Refusal, RefusalKind
from hmas.controllers.views import LengthMix, VLong
from hmas.daemon.control.advisers import Advisers
from hmas.daemon.control.llm import (
    CallBudget,
    LlmAdviser,
    RulesAdviser,
    advisers_for,
    checked_prompt,
    llm_health,
    llm_of,
    prompt_record,
)
from hmas.daemon.control.settings import LlmSettings, MetaSettings
from hmas.engine.clock import FakeClock
from hmas.engine.topologies import hint_bounds

CONTEXT = MetaContext(
    at_s=100.0,
    engine_id="engine0",
    windows=[
        VLong(
            engine_id="engine0",
            start_s=90.0,
            end_s=100.0,
            completed=True,
            prompt=LengthMix(shares={0: 1.0}, mean=100.0, variance=10.0),
            output=LengthMix(shares={0: 1.0}, mean=50.0, variance=5.0),
        )
    ],
    v_short=None,
    active="fcfs",
    active_hints={},
    stable="fcfs",
    topology_age_s=60.0,
    available=["fcfs", "edf", "sjf"],
    quarantined={"sjf": 200.0},
    hint_bounds={name: hint_bounds(name) for name in ("fcfs", "edf", "sjf")},
)

REFUSALS = {
    Failure.NOT_JSON: RefusalKind.NOT_JSON,
    Failure.EMPTY: RefusalKind.NOT_JSON,
    Failure.WRONG_SCHEMA: RefusalKind.WRONG_SCHEMA,
    Failure.EXTRA_KEY: RefusalKind.WRONG_SCHEMA,
    Failure.UNKNOWN_TOPOLOGY: RefusalKind.UNKNOWN_TOPOLOGY,
    Failure.HINT_OUT_OF_BOUNDS: RefusalKind.HINT_OUT_OF_BOUNDS,
    Failure.MEGABYTE: RefusalKind.TOO_LONG,
    Failure.HANG: RefusalKind.TIMEOUT,
    Failure.STATUS_500: RefusalKind.HTTP_ERROR,
    Failure.STATUS_429: RefusalKind.HTTP_ERROR,
    Failure.HANG_UP: RefusalKind.UNREACHABLE,
    Failure.NOT_A_COMPLETION: RefusalKind.HTTP_ERROR,
    Failure.NO_CHOICES: RefusalKind.HTTP_ERROR,
    Failure.DEEP_JSON: RefusalKind.NOT_JSON,
    Failure.BROKEN_TEXT: RefusalKind.HTTP_ERROR,
}


def settings(url: str, **changes: Any) -> LlmSettings:
    fields = {"base_url": url, "model": "scripted", "timeout_s": 5.0, "attempts": 1}
    return LlmSettings.model_validate(fields | changes)


def adviser(url: str, clock: FakeClock | None = None, **changes: Any) -> LlmAdviser:
    return LlmAdviser(
        settings(url, **changes),
        checked_prompt(),
        clock or FakeClock(100.0),
        fairness_threshold=0.7,
    )


@pytest.fixture
def llm() -> ScriptedLlm:
    return ScriptedLlm()


@pytest.fixture
async def url(llm: ScriptedLlm) -> AsyncIterator[str]:
    async with served(llm) as url:
        yield url


async def test_a_valid_answer_is_a_proposal(llm: ScriptedLlm, url: str) -> None:
    llm.otherwise = answer("edf", reason="deadline misses 12 %")
    asked = adviser(url)
    outcome = await asked.propose(CONTEXT)
    assert isinstance(outcome, Proposal)
    assert (outcome.controller, outcome.topology) == ("llm", "edf")
    assert outcome.prompt_version == checked_prompt().version
    assert (asked.stats.answers, asked.stats.refusals, asked.stats.last_ok_s) == (1, 0, 100.0)
    await asked.close()


async def test_the_question_holds_the_prompt_and_a_strict_schema(
    llm: ScriptedLlm, url: str
) -> None:
    llm.otherwise = answer("edf")
    asked = adviser(url, seed=7)
    await asked.propose(CONTEXT)
    await asked.close()
    [body] = llm.asked
    assert "meta-controller" in body["messages"][0]["content"]
    assert body["response_format"]["json_schema"]["strict"] is True
    assert body["temperature"] == 0.0
    assert body["seed"] == 7


@pytest.mark.parametrize("failure", list(Failure))
async def test_every_failure_is_a_refusal_with_its_kind(
    llm: ScriptedLlm, url: str, failure: Failure
) -> None:
    llm.otherwise = failure
    limit_s = 0.3 if failure is Failure.HANG else 20.0
    asked = adviser(url, timeout_s=limit_s)
    outcome = await asked.propose(CONTEXT)
    assert isinstance(outcome, Refusal)
    assert (outcome.controller, outcome.kind) == ("llm", REFUSALS[failure])
    assert outcome.detail
    assert len(outcome.detail) <= 300
    assert asked.stats.refusals == 1
    assert asked.stats.last_error.startswith(outcome.kind.value)
    await asked.close()


async def test_nobody_there_is_a_refusal() -> None:
    asked = adviser("http://127.0.0.1:9/v1")
    outcome = await asked.propose(CONTEXT)
    assert isinstance(outcome, Refusal)
    assert outcome.kind is RefusalKind.UNREACHABLE
    await asked.close()


async def test_what_may_pass_is_tried_again(llm: ScriptedLlm, url: str) -> None:
    llm.script.extend([Failure.STATUS_500, Failure.HANG_UP])
    llm.otherwise = answer("edf")
    asked = adviser(url, attempts=3, timeout_s=20.0)
    assert isinstance(await asked.propose(CONTEXT), Proposal)
    assert len(llm.asked) == 3
    await asked.close()


async def test_a_wrong_answer_is_not_asked_for_again(llm: ScriptedLlm, url: str) -> None:
    asked = adviser(url, attempts=3)
    assert isinstance(await asked.propose(CONTEXT), Refusal)
    assert len(llm.asked) == 1
    await asked.close()


async def test_the_time_limit_covers_all_attempts(llm: ScriptedLlm, url: str) -> None:
    llm.otherwise = Failure.HANG
    asked = adviser(url, attempts=10, timeout_s=1.0)
    async with asyncio.timeout(5):
        outcome = await asked.propose(CONTEXT)
    assert isinstance(outcome, Refusal)
    assert outcome.kind is RefusalKind.TIMEOUT
    assert len(llm.asked) == 1
    await asked.close()


async def test_the_budget_holds_for_an_hour(llm: ScriptedLlm, url: str) -> None:
    llm.otherwise = answer("edf")
    clock = FakeClock(0.0)
    asked = adviser(url, clock, calls_per_hour=2)
    kinds = [type(await asked.propose(CONTEXT)) for _ in range(3)]
    assert kinds == [Proposal, Proposal, Refusal]
    assert len(llm.asked) == 2
    assert asked.stats.last_error.startswith("budget: 2 calls")
    clock.advance(3600.0)
    assert isinstance(await asked.propose(CONTEXT), Proposal)
    await asked.close()


def test_a_budget_slides() -> None:
    budget = CallBudget(2)
    assert [budget.take(at_s) for at_s in (0.0, 1800.0, 1801.0, 3600.0, 3601.0)] == [
        True,
        True,
        False,
        True,
        False,
    ]


async def test_a_prompt_that_cannot_be_rendered_is_a_refusal(url: str) -> None:
    asked = adviser(url)
    empty = type(CONTEXT)(
        **{name: getattr(CONTEXT, name) for name in CONTEXT.__struct_fields__} | {"windows": []}
    )
    outcome = await asked.propose(empty)
    assert isinstance(outcome, Refusal)
    assert outcome.kind is RefusalKind.INTERNAL_ERROR
    await asked.close()


async def test_who_is_asked_follows_the_settings(url: str) -> None:
    meta = MetaSettings(primary="llm", shadow=("rules", "llm"), llm=settings(url))
    advisers = advisers_for(meta, ControlConfig(), FakeClock())
    assert isinstance(advisers.primary, LlmAdviser)
    assert list(advisers.shadows) == ["rules"]
    assert llm_of(advisers) is advisers.primary
    assert llm_health(meta, advisers).model == "scripted"
    await advisers.primary.close()


def test_without_an_llm_nobody_is_asked() -> None:
    advisers = advisers_for(MetaSettings(), ControlConfig(), FakeClock())
    assert advisers == Advisers()
    assert not llm_health(MetaSettings(), advisers).configured


async def test_the_rules_can_be_a_shadow() -> None:
    outcome = await RulesAdviser(ControlConfig()).propose(CONTEXT)
    assert outcome.controller == "rules"


def test_the_prompt_is_on_record() -> None:
    prompt = checked_prompt()
    record = prompt_record(prompt, 5.0)
    assert (record.name, record.version) == (prompt.name, prompt.version)
    assert record.sha256.startswith(prompt.digest)
