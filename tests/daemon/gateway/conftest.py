from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
from openai import AsyncOpenAI

from hmas.bench.scripted_engine import ScriptedEngine
from hmas.daemon.gateway.app import Surroundings
from hmas.daemon.gateway.local import LocalGateway, local_gateway
from hmas.daemon.gateway.settings import EngineTarget, GatewaySettings

StartGateway = Callable[..., Awaitable[LocalGateway]]
OpenAIFor = Callable[..., AsyncOpenAI]


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as exit_stack:
        yield exit_stack


@pytest.fixture
async def engine(stack: AsyncExitStack) -> ScriptedEngine:
    return ScriptedEngine()


@pytest.fixture
async def start(stack: AsyncExitStack) -> StartGateway:
    """``await start(engine, ..., keys=..., runtime_dir=...)``: a gateway before these engines."""

    async def begin(
        *engines: ScriptedEngine | EngineTarget,
        runtime_dir: Any = None,
        surroundings: Surroundings | None = None,
        target: dict[str, Any] | None = None,
        **settings: Any,
    ) -> LocalGateway:
        targets = []
        for number, engine in enumerate(engines):
            if isinstance(engine, EngineTarget):
                targets.append(engine)
                continue
            url = await stack.enter_async_context(engine.serving())
            fields = {"engine_id": f"engine{number}", "url": url} | (target or {})
            targets.append(EngineTarget.model_validate(fields))
        parsed = GatewaySettings.model_validate(
            {"engines": targets, "health_interval_s": 0.05, "max_body_bytes": 2**20} | settings
        )
        return await stack.enter_async_context(
            local_gateway(parsed, runtime_dir=runtime_dir, surroundings=surroundings)
        )

    return begin


@pytest.fixture
async def openai_for(stack: AsyncExitStack) -> OpenAIFor:
    """The real client, without its own retries."""

    def client(gateway: LocalGateway, key: str = "unused-key", **options: Any) -> AsyncOpenAI:
        made = AsyncOpenAI(
            base_url=f"{gateway.url}/v1", api_key=key, max_retries=0, timeout=20, **options
        )
        stack.push_async_callback(made.close)
        return made

    return client
