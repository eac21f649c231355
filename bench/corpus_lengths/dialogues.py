"""Sets of conversations: every answer of the assistant is one request."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from hmas.bench.corpus_lengths.sample import Sample, SetCard, answered, require_file
from hmas.controllers.perception.incoming import Prompt
from hmas.engine.features import TaskType

TAU_BENCH: Final = SetCard(
    "tau_bench",
    "calls of a GPT-4o airline agent (sierra-research/tau-bench)",
    "MIT",
    "by hash of the task",
    "UTF-8 bytes by four, rounded up; arguments of tool calls included",
    is_ordered=True,
)
TOOL_USE: Final = SetCard(
    "tool_use_demo",
    "reasoning tool-use demonstrations (hiyouga/LLaMA-Factory)",
    "Apache-2.0",
    "by hash of the first user turn",
    "UTF-8 bytes by four, rounded up",
    is_ordered=True,
)
MAX_READ_CHARACTERS: Final = 8192


def oasst(data: Path) -> Iterator[Sample]:
    path = require_file(data / "oasst/en_100_message.jsonl")
    with path.open(encoding="utf-8") as lines:
        for tree in map(json.loads, lines):
            yield from _replies(tree, [], tree["text"])


def _replies(node: Any, before: list[str], root: str) -> Iterator[Sample]:
    """Answers below a message of the tree; ``before`` is the conversation down to it."""
    texts = [*before, node["text"]]
    for reply in node.get("replies") or []:
        if node["role"] == "prompter" and reply["role"] == "assistant":
            prompt = _prompt(node["text"], "", sum(_bytes(text) for text in texts), len(texts))
            yield answered("oasst", node["text"], reply["text"], prompt=prompt, key=root)
        yield from _replies(reply, texts, root)


def tau_bench(data: Path) -> Iterator[Sample]:
    path = require_file(data / "tau_bench/gpt-4o-airline.json.gz")
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        runs = json.load(stream)
    for number, run in enumerate(runs):
        key = f"tau {run['task_id']}"
        yield from _agent_calls("tau_bench", run["traj"], f"tau-{number}", key, tools=True)


def tool_use(data: Path) -> Iterator[Sample]:
    path = require_file(data / "llamafactory_demo/reason_tool_use_demo_50.jsonl")
    with path.open(encoding="utf-8") as lines:
        for number, row in enumerate(map(json.loads, lines)):
            messages = [_flat(message) for message in row["messages"]]
            first = next(m["content"] for m in messages if m["role"] == "user")
            has_tools = bool(row.get("tools"))
            session = f"tool-use-{number}"
            yield from _agent_calls("tool_use_demo", messages, session, first, tools=has_tools)


def _agent_calls(
    source: str, messages: list[Any], session: str, key: str, *, tools: bool
) -> Iterator[Sample]:
    """One sample per assistant message, with all before it as its prompt."""
    size, user, system = 0, "", ""
    for turn, message in enumerate(messages):
        content = message.get("content") or ""
        calls = json.dumps(message["tool_calls"]) if message.get("tool_calls") else ""
        if message["role"] == "assistant" and turn:
            yield answered(
                source,
                user,
                _said(message),
                task_type=TaskType.INSTRUCTION_FOLLOWING,
                prompt=_prompt(user, system, size, turn, tools=int(tools)),
                session=session,
                called_tool=bool(calls) if tools else None,
                key=key,
            )
        elif message["role"] == "user":
            user = content
        elif message["role"] == "system":
            system = content
        size += _bytes(content) + len(calls)


def _said(message: Any) -> str:
    """What the model wrote: its words, and name and arguments of what it called."""
    calls = message.get("tool_calls") or []
    names = [call["function"]["name"] + call["function"]["arguments"] for call in calls]
    return (message.get("content") or "") + "".join(names)


def _flat(message: Any) -> dict[str, Any]:
    """A message of typed parts as one of plain text, tool calls apart."""
    calls = [part["value"] for part in message["content"] if part["type"] == "tool_call"]
    words = [str(part["value"]) for part in message["content"] if part["type"] != "tool_call"]
    called = [{"function": {"name": "", "arguments": _dumped(call)}} for call in calls]
    return {"role": message["role"], "content": "".join(words), "tool_calls": called}


def _dumped(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _prompt(text: str, system: str, size: int, turns: int, tools: int = 0) -> Prompt:
    return Prompt(
        text=text[:MAX_READ_CHARACTERS],
        system=system[:MAX_READ_CHARACTERS],
        size_bytes=size,
        turns=turns,
        tools=tools,
    )


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
