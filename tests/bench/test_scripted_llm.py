"""The scripted LLM does what its script says."""

from __future__ import annotations

import aiohttp
import pytest

from hmas.bench.scripted_llm import Failure, ScriptedLlm, answer, served


async def test_answers_in_turn_then_otherwise() -> None:
    llm = ScriptedLlm(otherwise=answer("edf"))
    llm.script.extend([answer("sjf"), Failure.STATUS_500])
    async with served(llm) as url, aiohttp.ClientSession() as session:
        seen = []
        for _ in range(3):
            async with session.post(f"{url}/chat/completions", json={"model": "m"}) as response:
                body = await response.json()
                seen.append((response.status, body.get("choices")))
    assert [status for status, _ in seen] == [200, 500, 200]
    assert seen[2][1][0]["message"]["content"] == answer("edf")
    assert len(llm.asked) == 3


@pytest.mark.parametrize("failure", [f for f in Failure if f is not Failure.HANG])
async def test_every_failure_ends_the_request(failure: Failure) -> None:
    llm = ScriptedLlm(otherwise=failure)
    async with served(llm) as url, aiohttp.ClientSession() as session:
        try:
            async with session.post(f"{url}/chat/completions", json={}) as response:
                assert await response.read()
        except aiohttp.ClientError:
            assert failure is Failure.HANG_UP
