"""A seeded generator of requests that nobody should send."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

CONTENT = {
    "/v1/chat/completions": "messages",
    "/v1/completions": "prompt",
    "/v1/responses": "input",
    "/v1/messages": "messages",
    "/v1/embeddings": "input",
}
FIELDS = (
    "model", "stream", "max_tokens", "max_completion_tokens", "max_output_tokens", "n",
    "temperature", "messages", "prompt", "input", "system", "instructions", "tools",
    "response_format", "priority", "service_tier", "session_id", "metadata", "nvext",
    "vllm_xargs",
)  # fmt: skip
HEADERS = (
    "x-hmas-task-type", "x-hmas-importance", "x-slo-ttft-ms", "x-slo-tpot-ms", "x-session-id",
    "x-request-priority", "x-vllm-priority", "x-request-id", "authorization", "x-api-key",
)  # fmt: skip
WORDS = (
    "translate", "summarize", "the following", "json", "write an essay", "in 2000 words",
    "def f():", "solve", "?", "\n", "```", '"', "\\", "{", "}", "system", "how many", "0", "%s",
)  # fmt: skip
LONG_BYTES = 400_000
"""About a hundred thousand tokens."""

Make = Callable[[random.Random], bytes]


@dataclass(frozen=True, slots=True)
class Hostile:
    """One request; ``kind`` names how it was made."""

    kind: str
    path: str
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


def characters(rng: random.Random, count: int) -> str:
    """Characters of whatever script, plane, direction or category; no surrogates."""
    block = rng.randrange(0, 0x110000, 256)
    found = []
    while len(found) < count:
        if rng.random() < 0.1:
            block = rng.randrange(0, 0x110000, 256)
        code = min(0x10FFFF, block + rng.randrange(256))
        if not 0xD800 <= code < 0xE000:
            found.append(chr(code))
    return "".join(found)


def text(rng: random.Random) -> str:
    kind = rng.randrange(6)
    if kind == 0:
        return characters(rng, rng.randrange(200))
    if kind == 1:
        return "".join(rng.choice(WORDS) for _ in range(rng.randrange(60)))
    if kind == 2:
        return rng.choice(("9", " ", '"', "\\", "\x00", "a", "\u200d", "é", "```")) * rng.randrange(
            5000
        )
    if kind == 3:
        return "".join(chr(rng.randrange(0xD800, 0xE000)) for _ in range(rng.randrange(1, 40)))
    if kind == 4:
        return " ".join(
            (rng.choice(WORDS), characters(rng, 30), chr(rng.randrange(0xD800, 0xDC00)))
        )
    return ""


def value(rng: random.Random, depth: int = 0) -> Any:
    """Any JSON value, also those that Python writes and JSON forbids."""
    kind = rng.randrange(12 if depth < 4 else 8)
    if kind < 3:
        return text(rng)
    if kind == 3:
        return rng.choice((None, True, False, [], {}, "", "null"))
    if kind == 4:
        return rng.choice((float("nan"), float("inf"), float("-inf"), -0.0, 1e308, 5e-324))
    if kind == 5:
        return rng.choice((0, -1, 1, 2**31, 2**63, -(2**63), 2**64, 10**300))
    if kind < 8:
        return rng.randrange(-10, 5000)
    if kind < 10:
        return [value(rng, depth + 1) for _ in range(rng.randrange(5))]
    return {text(rng)[:40]: value(rng, depth + 1) for _ in range(rng.randrange(5))}


def message(rng: random.Random) -> Any:
    role = rng.choice(("user", "system", "assistant", "tool", "developer", "", text(rng)))
    parts = [
        {"type": "text", "text": text(rng)},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 3000}},
        {"type": "input_audio", "input_audio": {"data": "AAAA"}},
        {"type": "text", "text": value(rng)},
        value(rng),
    ]
    content = rng.choice((text(rng), rng.sample(parts, rng.randrange(5)), None, value(rng)))
    return {"role": role, "content": content}


def tools(rng: random.Random, depth: int = 0) -> Any:
    """Tool schemas inside tool schemas."""
    inner = tools(rng, depth + 1) if depth < rng.randrange(1, 12) else value(rng)
    schema = {"type": "object", "properties": {text(rng)[:20]: inner, "x": {"enum": [inner]}}}
    return [{"type": "function", "function": {"name": text(rng)[:30], "parameters": schema}}]


def ordinary(rng: random.Random, path: str) -> dict[str, Any]:
    """A request that an engine might take."""
    name = CONTENT[path]
    content: Any = text(rng) or "x"
    if name == "messages":
        content = [message(rng) for _ in range(rng.randrange(1, 6))]
    return {"model": "echo", name: content, "max_tokens": rng.randrange(100)}


def written(rng: random.Random, fields: Any) -> bytes:
    if rng.random() < 0.5:
        return json.dumps(fields).encode()
    return json.dumps(fields, ensure_ascii=False).encode("utf-8", "surrogatepass")


def wrong_types(rng: random.Random, path: str) -> bytes:
    fields = ordinary(rng, path)
    for name in rng.sample(FIELDS, rng.randrange(1, 5)):
        fields[name] = value(rng)
    return written(rng, fields)


def with_tools(rng: random.Random, path: str) -> bytes:
    formats = ({"type": "json_object"}, {"type": "json_schema", "json_schema": value(rng)}, 3)
    extra = {"tools": tools(rng), "response_format": rng.choice(formats)}
    return written(rng, ordinary(rng, path) | extra)


def with_claims(rng: random.Random, path: str) -> bytes:
    claims = {name: value(rng) for name in ("task_type", "job_id", "stage", "role", "session_id")}
    agent = {"agent_hints": {"osl": value(rng), "priority": value(rng)}}
    extra = {"metadata": claims, "nvext": agent, "vllm_xargs": {"hmas": value(rng)}}
    return written(rng, ordinary(rng, path) | extra)


def nested(rng: random.Random, path: str) -> bytes:
    depth = rng.choice((10, 100, 1000, 10_000, 50_000))
    opening, closing = rng.choice(((b"[", b"]"), (b'{"a":', b"}"), (b'[{"content":', b"}]")))
    deep = opening * depth + b"1" + (closing * depth if rng.random() < 0.8 else b"")
    name = rng.choice(FIELDS).encode()
    content = CONTENT[path].encode()
    return b'{"model":"echo","%b":"x","%b":%b}' % (content, name, deep)


def duplicated(rng: random.Random, path: str) -> bytes:
    pairs = list(ordinary(rng, path).items()) + [(rng.choice(FIELDS), value(rng)) for _ in "1234"]
    rng.shuffle(pairs)
    members = (f"{json.dumps(name)}:{json.dumps(held)}" for name, held in pairs)
    return ("{" + ",".join(members) + "}").encode()


def damaged(rng: random.Random, path: str) -> bytes:
    raw = bytearray(written(rng, ordinary(rng, path)))
    for _ in range(rng.randrange(1, 6)):
        raw[rng.randrange(len(raw))] = rng.randrange(256)
    return bytes(raw[: rng.randrange(1, len(raw) + 1)] if rng.random() < 0.3 else raw)


def binary(rng: random.Random, path: str) -> bytes:
    return rng.randbytes(rng.randrange(2000))


def recoded(rng: random.Random, path: str) -> bytes:
    fields = json.dumps(ordinary(rng, path))
    ways: tuple[Callable[[], bytes], ...] = (
        lambda: b"\xef\xbb\xbf" + fields.encode(),
        lambda: fields.encode("utf-16"),
        lambda: gzip.compress(fields.encode(), mtime=0),
        lambda: fields.encode() * 2,
        lambda: b"\x00" + fields.encode(),
        lambda: rng.choice((b"", b"{}", b"[]", b"null", b'""', b"0", b"NaN", b" ")),
    )
    return rng.choice(ways)()


def plain(rng: random.Random, path: str) -> bytes:
    return written(rng, ordinary(rng, path))


def token_ids(rng: random.Random, path: str) -> bytes:
    ids = [rng.randrange(-5, 200_000) for _ in range(rng.choice((1, 50, 3000)))]
    content = rng.choice((ids, [ids, ids], [ids, "x"], [[]], [*ids, None]))
    return written(rng, {"model": "echo", CONTENT[path]: content})


def huge(rng: random.Random, path: str) -> bytes:
    """A hundred thousand tokens: one prompt, or thousands of turns."""
    piece = rng.choice(("word ", "9", "a" * 50, "```\n", "漢", '\\"', "translate "))
    body = piece * (LONG_BYTES // len(piece.encode()))
    content: Any = body
    if CONTENT[path] == "messages":
        turns = [{"role": "user", "content": body[i : i + 40]} for i in range(0, len(body), 40)]
        content = rng.choice((turns, [{"role": "user", "content": body}]))
    return written(rng, {"model": "echo", CONTENT[path]: content})


KINDS: tuple[tuple[Callable[[random.Random, str], bytes], int], ...] = (
    (plain, 30), (wrong_types, 20), (with_tools, 10), (with_claims, 10), (nested, 4),
    (duplicated, 8), (damaged, 10), (binary, 4), (recoded, 4), (token_ids, 4),
)  # fmt: skip


def headers(rng: random.Random) -> dict[str, str]:
    """Mostly none; where there are, values of any byte but line ends and NUL."""
    if rng.random() < 0.8:
        return {}
    values = ("nan", "-1", "1e999", "QA", "Bearer ", "0.5", "\x80\x9f", "ÿþ", "9" * 4000, "")
    return {name: rng.choice(values) for name in rng.sample(HEADERS, 2)}


def inputs(seed: int, count: int, long_ones: int) -> Iterator[Hostile]:
    """``count`` requests, ``long_ones`` of them huge, the same ones for the same seed."""
    rng = random.Random(seed)
    makers = [maker for maker, _ in KINDS]
    weights = [weight for _, weight in KINDS]
    paths = list(CONTENT)
    huge_at = set(rng.sample(range(count), long_ones))
    for number in range(count):
        path = rng.choice(paths)
        maker = huge if number in huge_at else rng.choices(makers, weights)[0]
        body = maker(rng, path)
        if rng.random() < 0.02:
            path = "/v1/" + rng.choice(("batches", "tokenize", "x" * 300, "audio/speech", "%ff"))
        yield Hostile(maker.__name__, path, body, headers(rng))
