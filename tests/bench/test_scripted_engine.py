from __future__ import annotations

from collections import deque

import aiohttp

from hmas.bench.scripted_engine import Behaviour, ScriptedEngine


async def test_plays_its_script_and_remembers() -> None:
    engine = ScriptedEngine(script=deque([Behaviour(status=418)]))
    body = {"model": "tiny", "prompt": "x"}
    async with engine.serving() as url, aiohttp.ClientSession() as session:
        async with session.post(f"{url}/v1/completions", json=body) as answer:
            assert answer.status == 418
        async with session.post(f"{url}/v1/completions", json=body) as answer:
            assert (await answer.json())["usage"]["completion_tokens"] == 3
    assert [seen.json for seen in engine.seen] == [body, body]
    assert engine.seen[0].features is None
    assert engine.running == 0
