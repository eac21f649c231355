"""One streamed completion, timed at the client."""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, Callable
from dataclasses import dataclass
from typing import Any

import aiohttp

from hmas.bench.metrics import RequestResult, unfinished
from hmas.bench.prompts import prompt_token_ids
from hmas.bench.slo import WorkloadRequest
from hmas.engine.simulator.openai_api import OUTPUT_TOKENS_KEY

Seconds = Callable[[], float]
CLIENT_CAP_TOKENS = 4096
_USAGE = b'"usage"'


@dataclass(frozen=True, slots=True)
class LiveTarget:
    """Where to send requests.

    ``api_key`` should be a trusted one: tenants are claimed. A ``simulated`` engine is told the
    true output length beside the request; any other one is held to it by ``max_tokens``, which
    the scheduler sees as well, so there no prediction exceeds the truth.
    """

    base_url: str
    model: str
    api_key: str | None = None
    timeout_s: float = 600.0
    seed: int = 0
    simulated: bool = False

    @property
    def completions_url(self) -> str:
        return f"{self.base_url.rstrip('/')}/v1/completions"


@dataclass(slots=True)
class StreamTiming:
    """When tokens came, in seconds since the request was due."""

    first_s: float | None = None
    last_s: float = 0.0
    chunks: int = 0
    output_tokens: int | None = None
    error: str = ""

    @property
    def tokens(self) -> int:
        """Output tokens by the server's own count, else one per chunk."""
        return self.chunks if self.output_tokens is None else self.output_tokens


def request_headers(request: WorkloadRequest, target: LiveTarget) -> dict[str, str]:
    """Everything that perception may be told explicitly."""
    features = request.features
    headers = {
        "x-request-id": features.request_id,
        "x-slo-ttft-ms": f"{features.slo_ttft_ms:g}",
        "x-slo-tpot-ms": f"{features.slo_tpot_ms:g}",
        "x-hmas-task-type": features.task_type.value,
        "x-hmas-importance": f"{features.importance:g}",
        "x-gateway-inference-fairness-id": features.tenant,
    }
    if target.api_key:
        headers["authorization"] = f"Bearer {target.api_key}"
    return headers


def request_body(request: WorkloadRequest, target: LiveTarget) -> dict[str, Any]:
    """A completion of exactly the trace's lengths; the prediction travels as a hint."""
    output_tokens = request.output_tokens
    body: dict[str, Any] = {
        "model": target.model,
        "prompt": prompt_token_ids(request, target.seed),
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
        "nvext": {"agent_hints": {"osl": request.features.predicted_output_tokens}},
    }
    if target.simulated:
        body["max_tokens"] = max(CLIENT_CAP_TOKENS, output_tokens)
        body["vllm_xargs"] = {OUTPUT_TOKENS_KEY: output_tokens}
    else:
        body["max_tokens"] = output_tokens
        body["ignore_eos"] = True
    return body


async def send(
    session: aiohttp.ClientSession,
    request: WorkloadRequest,
    target: LiveTarget,
    clock: Seconds,
    due_s: float,
) -> tuple[RequestResult, str]:
    """The request's result and, when it failed, why (else an empty text).

    Times count from ``due_s``, when the request should have been sent: a client that falls
    behind must not flatter the server.
    """
    body = request_body(request, target)
    headers = request_headers(request, target)
    timeout = aiohttp.ClientTimeout(total=target.timeout_s)
    try:
        async with session.post(
            target.completions_url, json=body, headers=headers, timeout=timeout
        ) as response:
            if response.status != 200:
                detail = (await response.text())[:200]
                return unfinished(request.features), f"HTTP {response.status}: {detail}"
            timing = await read_stream(response.content, clock, due_s)
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        return unfinished(request.features), f"{type(error).__name__}: {error}"
    if timing.error or timing.first_s is None:
        return unfinished(request.features), timing.error or "the stream held no token"
    return _result(request, timing), ""


async def read_stream(lines: AsyncIterable[bytes], clock: Seconds, start_s: float) -> StreamTiming:
    """Times of the tokens in a stream of server-sent events, parsing as little as it can."""
    timing = StreamTiming()
    done = False
    async for line in lines:
        if not line.startswith(b"data:"):
            continue
        payload = line[5:].strip()
        if payload == b"[DONE]":
            done = True
        elif _USAGE in payload and not _take(timing, json.loads(payload)):
            continue
        elif payload.startswith(b'{"error"'):
            timing.error = payload.decode(errors="replace")[:200]
        else:
            _count(timing, clock() - start_s)
    if not done and not timing.error:
        timing.error = "the stream ended early"
    return timing


def _take(timing: StreamTiming, event: dict[str, Any]) -> bool:
    """Read the usage; True when the event carries a token as well."""
    usage = event.get("usage")
    if isinstance(usage, dict) and isinstance(usage.get("completion_tokens"), int):
        timing.output_tokens = usage["completion_tokens"]
    return bool(event.get("choices"))


def _count(timing: StreamTiming, at_s: float) -> None:
    if timing.first_s is None:
        timing.first_s = at_s
    timing.last_s = at_s
    timing.chunks += 1


def _result(request: WorkloadRequest, timing: StreamTiming) -> RequestResult:
    features = request.features
    first_s = timing.first_s or 0.0
    gaps = timing.tokens - 1
    return RequestResult(
        arrival_s=features.arrival_s,
        prompt_tokens=features.prompt_tokens,
        output_tokens=timing.tokens,
        slo_ttft_ms=features.slo_ttft_ms,
        slo_tpot_ms=features.slo_tpot_ms,
        ttft_s=first_s,
        tpot_s=(timing.last_s - first_s) / gaps if gaps > 0 else 0.0,
        e2e_s=timing.last_s,
    )
