"""One completion: bounded in time, size and attempts, against an endpoint that misbehaves."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from typing import Any

import pytest

from hmas.bench.scripted_llm import Failure, ScriptedLlm, served
from hmas.controllers.meta.base import RefusalKind
from hmas.daemon.control.completion import CompletionClient, CompletionError
from hmas.daemon.control.settings import LlmSettings

FORMAT: dict[str, Any] = {"type": "json_object"}


@pytest.fixture
def llm() -> ScriptedLlm:
    return ScriptedLlm()


@pytest.fixture
async def url(llm: ScriptedLlm) -> AsyncIterator[str]:
    async with served(llm) as url:
        yield url


async def complete(url: str, **changes: Any) -> str:
    fields = {"base_url": url, "model": "scripted", "timeout_s": 20.0, "attempts": 1}
    client = CompletionClient(LlmSettings.model_validate(fields | changes))
    try:
        return await client.complete("what now?", FORMAT)
    finally:
        await client.close()


async def refused(url: str, **changes: Any) -> CompletionError:
    with pytest.raises(CompletionError) as raised:
        await complete(url, **changes)
    return raised.value


async def test_the_text_comes_back_as_it_is(llm: ScriptedLlm, url: str) -> None:
    llm.otherwise = "edf, I think é"
    assert await complete(url, max_tokens=77, temperature=0.5) == "edf, I think é"
    [asked] = llm.asked
    assert asked["messages"] == [{"role": "user", "content": "what now?"}]
    assert (asked["max_completion_tokens"], asked["temperature"]) == (77, 0.5)
    assert asked["response_format"] == FORMAT
    assert "seed" not in asked


@pytest.mark.parametrize("failure", [Failure.STATUS_500, Failure.STATUS_429, Failure.HANG_UP])
async def test_what_may_pass_is_tried_again(failure: Failure, llm: ScriptedLlm, url: str) -> None:
    llm.script, llm.otherwise = deque([failure]), "at last"
    assert await complete(url, attempts=2) == "at last"
    assert len(llm.asked) == 2


async def test_attempts_are_counted(llm: ScriptedLlm, url: str) -> None:
    llm.otherwise = Failure.STATUS_500
    error = await refused(url, attempts=2)
    assert (error.kind, str(error)) == (RefusalKind.HTTP_ERROR, "status 500")
    assert len(llm.asked) == 2


@pytest.mark.parametrize("failure", [Failure.NOT_A_COMPLETION, Failure.NO_CHOICES])
async def test_what_is_no_completion_is_not_asked_for_again(
    failure: Failure, llm: ScriptedLlm, url: str
) -> None:
    llm.otherwise = failure
    error = await refused(url, attempts=3)
    assert error.kind is RefusalKind.HTTP_ERROR
    assert "completion" in str(error)
    assert len(llm.asked) == 1


async def test_silence_ends_in_time_and_is_not_repeated(llm: ScriptedLlm, url: str) -> None:
    llm.otherwise = Failure.HANG
    error = await refused(url, attempts=3, timeout_s=0.3)
    assert (error.kind, str(error)) == (RefusalKind.TIMEOUT, "no answer within 0.3 s")
    assert len(llm.asked) <= 1


async def test_an_answer_is_cut_off_wherever_it_is_too_long(llm: ScriptedLlm, url: str) -> None:
    llm.otherwise = "é" * 600
    error = await refused(url, max_answer_bytes=1000)
    assert (error.kind, str(error)) == (RefusalKind.TOO_LONG, "more than 1000 bytes")
    llm.otherwise = Failure.MEGABYTE
    error = await refused(url, max_answer_bytes=1000)
    assert error.kind is RefusalKind.TOO_LONG
    assert str(error).startswith("more than 22384 bytes")


async def test_nobody_there_is_unreachable() -> None:
    error = await refused("http://127.0.0.1:9/v1")
    assert error.kind is RefusalKind.UNREACHABLE
    assert str(error)
