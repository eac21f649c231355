"""Sources of one kind of question each: grade-school maths, medicine, tables, exams; code."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Final

from hmas.bench.corpus.sample import sample, some
from hmas.controllers.perception.training import Sample
from hmas.engine.features import TaskType

MOST: Final = 700
MATHEMATICS: Final = frozenset(
    {
        "abstract_algebra",
        "college_mathematics",
        "elementary_mathematics",
        "high_school_mathematics",
        "high_school_statistics",
    }
)


def gsm8k(data: Path, rng: random.Random) -> list[Sample]:
    """Word problems: all MathReasoning."""
    lines = _lines(data / "gsm8k" / "train.jsonl")
    texts = [json.loads(line)["question"] for line in some(lines, MOST, rng)]
    return [sample("gsm8k", TaskType.MATH_REASONING, text) for text in texts]


def wikisql(data: Path, rng: random.Random) -> list[Sample]:
    """Questions about a table; without its schema the prompt asks a fact: QA."""
    lines = _lines(data / "wikisql" / "dev.jsonl")
    texts = [json.loads(line)["question"] for line in some(lines, MOST, rng)]
    return [sample("wikisql", TaskType.QA, text) for text in texts]


def medquad(data: Path, rng: random.Random) -> list[Sample]:
    """Questions of patients: QA."""
    import pandas as pd

    table = pd.read_parquet(data / "medquad" / "medquad.parquet", columns=["question"])
    texts = some(sorted(set(table["question"])), MOST, rng)
    return [sample("medquad", TaskType.QA, text) for text in texts]


def mmlu(data: Path, rng: random.Random) -> list[Sample]:
    """Multiple choice, by subject: mathematics is MathReasoning, everything else QA."""
    import pandas as pd

    table = pd.read_parquet(data / "routellm" / "mmlu_prompts.parquet")
    rows = some(list(zip(table["subject"], table["prompt"], strict=True)), MOST, rng)
    return [
        sample(
            "mmlu",
            TaskType.MATH_REASONING if subject in MATHEMATICS else TaskType.QA,
            text,
        )
        for subject, text in rows
    ]


def humaneval(data: Path, rng: random.Random) -> list[Sample]:
    """Beginnings of Python functions to complete: CodeGeneration."""
    with gzip.open(data / "humaneval" / "HumanEval.jsonl.gz", "rt", encoding="utf-8") as file:
        texts = [json.loads(line)["prompt"] for line in file]
    return [sample("humaneval", TaskType.CODE_GENERATION, text) for text in texts]


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").strip().split("\n")
