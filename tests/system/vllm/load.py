"""Streamed completions, many at once, whose every token is known beforehand."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from hmas.bench.vllm_server import MODEL_NAME

WORDS = ("scheduler", "deadline", "fair", "burst", "queue", "tenant", "prompt", "token", "lane")
CLIENT_TIMEOUT = aiohttp.ClientTimeout(total=600)


def prompts(count: int, seed: int = 5) -> list[dict[str, Any]]:
    """Bodies of different prompt and output lengths, greedy, so that outputs are determined."""
    generator = random.Random(seed)
    return [
        {
            "model": MODEL_NAME,
            "prompt": f"{number} "
            + " ".join(generator.choices(WORDS, k=generator.randrange(2, 80))),
            "max_tokens": generator.choice([4, 16, 48, 96]),
            "temperature": 0,
            "ignore_eos": True,
            "stream": True,
            "return_token_ids": True,
        }
        for number in range(count)
    ]


async def stream(session: aiohttp.ClientSession, url: str, body: dict[str, Any]) -> list[int]:
    """Token ids of one streamed completion. Raises on anything but a whole, clean stream."""
    headers = {"x-slo-ttft-ms": str(200 * body["max_tokens"]), "x-slo-tpot-ms": "200"}
    tokens: list[int] = []
    async with session.post(f"{url}/v1/completions", json=body, headers=headers) as response:
        if response.status != 200:
            raise RuntimeError(f"status {response.status}: {(await response.text())[:500]}")
        async for line in response.content:
            if not line.startswith(b"data: "):
                continue
            if line.strip() == b"data: [DONE]":
                return tokens
            chunk = json.loads(line[6:])
            if "error" in chunk:
                raise RuntimeError(f"error in the stream: {chunk['error']}")
            for choice in chunk["choices"]:
                tokens.extend(choice.get("token_ids") or ())
    raise RuntimeError("the stream ended without [DONE]")


def answers(url: str, bodies: list[dict[str, Any]], at_once: int = 32) -> list[list[int]]:
    """What ``url`` says to each of ``bodies``."""

    async def ask() -> list[list[int]]:
        gate = asyncio.Semaphore(at_once)
        async with aiohttp.ClientSession(timeout=CLIENT_TIMEOUT) as session:

            async def one(body: dict[str, Any]) -> list[int]:
                async with gate:
                    return await stream(session, url, body)

            return list(await asyncio.gather(*map(one, bodies)))

    return asyncio.run(ask())


@dataclass
class Load:
    """``clients`` streams at any time, in a thread of its own, until told to stop."""

    url: str
    bodies: list[dict[str, Any]]
    expected: list[list[int]]
    clients: int
    completed: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    wrong: Counter[str] = field(default_factory=Counter)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="load")
        self._thread.start()

    def stop(self, timeout_s: float = 300) -> None:
        """No new requests; waits for those under way."""
        self._stop.set()
        assert self._thread is not None
        self._thread.join(timeout_s)
        assert not self._thread.is_alive(), f"{self.in_flight} requests never ended"

    async def _run(self) -> None:
        turns = itertools.count()
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(timeout=CLIENT_TIMEOUT, connector=connector) as session:
            await asyncio.gather(*(self._client(session, turns) for _ in range(self.clients)))

    async def _client(self, session: aiohttp.ClientSession, turns: itertools.count[int]) -> None:
        while not self._stop.is_set():
            index = next(turns) % len(self.bodies)
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
            try:
                tokens = await stream(session, self.url, self.bodies[index])
            except (aiohttp.ClientError, RuntimeError, TimeoutError) as error:
                self.wrong[f"{type(error).__name__}: {error}"[:300]] += 1
            else:
                self.completed += 1
                if tokens != self.expected[index]:
                    self.wrong[f"prompt {index} has other tokens than with stock vLLM"] += 1
            finally:
                self.in_flight -= 1
