"""Sources with roles, turns and tools: labelled by their structure."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from hmas.bench.corpus.hand_labels import OASST_ROOTS, labelled
from hmas.bench.corpus.sample import sample, some
from hmas.controllers.perception.training import Sample
from hmas.engine.features import TaskType

MOST: Final = 700
USER_TURNS: Final = (1, 3, 5)
"""Which user turns of a customer conversation are taken."""

Message = dict[str, Any]


def oasst(data: Path, rng: random.Random) -> list[Sample]:
    """First prompts by hand; what answers an assistant is Dialogue, whatever it says."""
    path = data / "oasst" / "en_100_message.jsonl"
    roots = [json.loads(line) for line in path.read_text(encoding="utf-8").strip().split("\n")]
    found = [
        sample("oasst", task, root["text"])
        for root, task in labelled(roots, OASST_ROOTS)
        if task is not None
    ]
    later = [
        sample("oasst", TaskType.DIALOGUE, text, turns=turns)
        for root in roots
        for text, turns in _answers(root, 1)
    ]
    return found + some(later, MOST, rng)


def _answers(message: Message, depth: int) -> Iterator[tuple[str, int]]:
    for reply in message.get("replies") or []:
        if reply["role"] == "prompter":
            yield reply["text"], depth + 1
        yield from _answers(reply, depth + 1)


def tau_bench(data: Path, rng: random.Random) -> list[Sample]:
    """A customer talks to an airline's agent, which has tools: Dialogue."""
    path = data / "tau_bench" / "gpt-4o-airline.json.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        runs = json.load(file)
    found = []
    for run in runs:
        messages = run["traj"]
        system = messages[0]["content"] or ""
        users = [number for number, one in enumerate(messages) if one["role"] == "user"]
        for turn in USER_TURNS:
            if turn <= len(users):
                number = users[turn - 1]
                text = messages[number]["content"] or ""
                found.append((text, system, number + 1))
    return [
        sample("tau_bench", TaskType.DIALOGUE, text, system=system, turns=turns, tools=1)
        for text, system, turns in some(found, MOST, rng)
    ]


def bfcl(data: Path, rng: random.Random) -> list[Sample]:
    """Requests with function schemas to call: InstructionFollowing."""
    import pandas as pd

    table = pd.read_parquet(data / "bfcl" / "bfcl_prompts.parquet")
    texts = [text for text in table["user"] if isinstance(text, str) and text.strip()]
    return [
        sample("bfcl", TaskType.INSTRUCTION_FOLLOWING, text, tools=1)
        for text in some(texts, MOST, rng)
    ]


def tool_demo(data: Path, rng: random.Random) -> list[Sample]:
    """LLaMA-Factory's tool-use demonstration: InstructionFollowing."""
    path = data / "llamafactory_demo" / "reason_tool_use_demo_50.jsonl"
    found = []
    for line in path.read_text(encoding="utf-8").strip().split("\n"):
        texts = {
            message["role"]: message["content"][0]["value"]
            for message in reversed(json.loads(line)["messages"])
        }
        found.append(
            sample(
                "llamafactory_tools",
                TaskType.INSTRUCTION_FOLLOWING,
                texts["user"],
                system=texts.get("system", ""),
                tools=1,
            )
        )
    return found


def who_and_when(data: Path, rng: random.Random) -> list[Sample]:
    """What a team of research agents is sent: ResearchAndCommunication.

    The first brief of a run, as logged, is what reaches the model.
    """
    import pandas as pd

    table = pd.read_parquet(data / "who_and_when" / "full_logs.parquet")
    found = []
    for log in map(json.loads, table["json"]):
        history = log["history"]
        brief = history[1 if history[0].get("role") == "human" else 0]["content"]
        roles = log.get("system_prompt") or {}
        system = next(iter(roles.values()), "") if isinstance(roles, dict) else ""
        found.append((brief, system))
    return [
        sample("who_and_when", TaskType.RESEARCH_AND_COMMUNICATION, text, system=system, turns=2)
        for text, system in some(found, MOST, rng)
    ]
