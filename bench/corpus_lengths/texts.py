"""Sets of prompts with one answer each; tokens are estimated from the text."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from hmas.bench.corpus_lengths.sample import Sample, SetCard, answered, require_file
from hmas.engine.features import TaskType

_BY_PROMPT: Final = "by hash of the prompt"
_ESTIMATED: Final = "UTF-8 bytes by four, rounded up"
_END: Final = "<|endoftext|>"


def _card(name: str, source: str, licence: str) -> SetCard:
    return SetCard(name, source, licence, _BY_PROMPT, _ESTIMATED)


GSM8K: Final = _card("gsm8k", "grade-school math with worked answers (openai)", "MIT")
MEDQUAD: Final = _card("medquad", "medical questions with answers (abachaa/MedQuAD)", "CC-BY-4.0")
T0: Final = _card(
    "t0_templates",
    "T0 templates, 30 prompts each (yizhongw/self-instruct, bigscience P3)",
    "Apache-2.0 (parts keep their own)",
)
SELF_INSTRUCT: Final = _card(
    "self_instruct", "seed and user-oriented tasks (yizhongw/self-instruct)", "Apache-2.0"
)
ALPACA: Final = _card("alpaca", "alpaca_en_demo (hiyouga/LLaMA-Factory)", "Apache-2.0")
OASST: Final = _card("oasst", "100 English trees (LAION-AI/Open-Assistant)", "Apache-2.0")
ROUTELLM: Final = _card(
    "routellm_gsm8k", "GSM8K answers of GPT-4 and Mixtral-8x7B (lm-sys/RouteLLM)", "Apache-2.0"
)
HUMANEVAL: Final = _card("humaneval", "canonical solutions (openai/human-eval)", "MIT")


def gsm8k(data: Path) -> Iterator[Sample]:
    for part in ("train", "test"):
        for row in _json_lines(data / f"gsm8k/{part}.jsonl"):
            yield answered(
                "gsm8k", row["question"], row["answer"], task_type=TaskType.MATH_REASONING
            )


def medquad(data: Path) -> Iterator[Sample]:
    rows = _parquet(data / "medquad/medquad.parquet")
    for question, answer in zip(rows.question, rows.answer, strict=True):
        if isinstance(answer, str) and answer.strip():
            yield answered("medquad", question, answer, task_type=TaskType.QA)


def t0_templates(data: Path) -> Iterator[Sample]:
    rows = _parquet(data / "self_instruct/t0_templates_30_each.parquet")
    for prompt, completion in zip(rows.prompt, rows.completion, strict=True):
        yield answered("t0_templates", prompt, completion.removesuffix(_END).strip())


def self_instruct(data: Path) -> Iterator[Sample]:
    for name in ("seed_tasks", "user_oriented_instructions"):
        for row in _json_lines(data / f"self_instruct/{name}.jsonl"):
            for instance in row["instances"]:
                text = _joined(row["instruction"], instance["input"])
                yield answered("self_instruct", text, instance["output"], key=row["instruction"])


def alpaca(data: Path) -> Iterator[Sample]:
    path = require_file(data / "llamafactory_demo/alpaca_en_demo.json")
    for row in json.loads(path.read_text(encoding="utf-8")):
        yield answered("alpaca", _joined(row["instruction"], row["input"]), row["output"])


def routellm(data: Path) -> Iterator[Sample]:
    rows = _parquet(data / "routellm/gsm8k_responses.parquet")
    for model in ("gpt-4-1106-preview", "mistralai/Mixtral-8x7B-Instruct-v0.1"):
        for prompt, answer in zip(rows.prompt, rows[f"{model}_response"], strict=True):
            yield answered(
                "routellm_gsm8k", prompt, answer, task_type=TaskType.MATH_REASONING, model=model
            )


def humaneval(data: Path) -> Iterator[Sample]:
    path = require_file(data / "humaneval/HumanEval.jsonl.gz")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            yield answered(
                "humaneval",
                row["prompt"],
                row["canonical_solution"],
                task_type=TaskType.CODE_GENERATION,
            )


def _joined(instruction: str, given: str) -> str:
    return f"{instruction}\n{given}" if given else instruction


def _json_lines(path: Path) -> Iterator[Any]:
    with require_file(path).open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _parquet(path: Path) -> Any:
    import pandas  # noqa: ICN001

    return pandas.read_parquet(require_file(path))
