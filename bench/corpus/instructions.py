"""Mixed instruction sets: labelled by hand, and by the names of their templates."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from hmas.bench.corpus.hand_labels import (
    ALPACA,
    SEED_TASKS,
    USER_ORIENTED,
    Labels,
    labelled,
)
from hmas.bench.corpus.sample import sample, some
from hmas.controllers.perception.training import Sample
from hmas.engine.features import TaskType

MOST: Final = 1500

QA: Final = TaskType.QA
WHOLE_DATASETS: Final = {
    "amazon_polarity": TaskType.EXTRACTION,
    "xsum": TaskType.SUMMARIZATION,
    "commonsense_qa": QA,
    "cosmos_qa": QA,
    "qasc": QA,
    "quarel": QA,
    "quartz": QA,
    "quoref": QA,
    "ropes": QA,
    "social_i_qa": QA,
}
"""Of T0's data sets those whose own licences are permissive (Apache, MIT, CC BY, free use)."""
TEMPLATES: Final = {
    "cnn_dailymail": {
        "2_or_3_sentences": TaskType.SUMMARIZATION,
        "news_card_view": TaskType.SUMMARIZATION,
        "news_stock": TaskType.SUMMARIZATION,
        "news_summary": TaskType.SUMMARIZATION,
        "sum_in_brief": TaskType.SUMMARIZATION,
        "tldr_summary": TaskType.SUMMARIZATION,
        "generate_story": TaskType.LONG_FORM_GENERATION,
    },
    "common_gen": {
        "Example_prompt": TaskType.INSTRUCTION_FOLLOWING,
        "Given_concepts_type_1": TaskType.INSTRUCTION_FOLLOWING,
        "Given_concepts_type_2": TaskType.INSTRUCTION_FOLLOWING,
        "Put_together": TaskType.INSTRUCTION_FOLLOWING,
        "topic_to_sentence": TaskType.INSTRUCTION_FOLLOWING,
        "sentence_to_concepts": TaskType.EXTRACTION,
        "topics_from_the_sentence": TaskType.EXTRACTION,
    },
    "duorc": {
        "answer_question": QA,
        "extract_answer": QA,
        "question_answering": QA,
        "build_story_around_qa": TaskType.LONG_FORM_GENERATION,
    },
    "paws": {"paraphrase_task": TaskType.PARAPHRASING},
}
"""Data sets whose templates ask for different things, by the end of the template's name."""
EITHER: Final = re.compile(r"(?i)name (\d+|two|three|four|five|some|a few)\b")
"""Naming several things is a list to one reader and a question to another: left out."""
SKIPPED: Final = ("Guess_Title_For_Context", "Generate_the_question_from_the_answer")


def alpaca(data: Path, rng: random.Random) -> list[Sample]:
    """LLaMA-Factory's Alpaca demonstration, by hand."""
    path = data / "llamafactory_demo" / "alpaca_en_demo.json"
    rows = json.loads(path.read_text(encoding="utf-8"))
    for row in rows:
        row["instances"] = [{"input": row["input"]}]
    return _by_hand("alpaca", rows, ALPACA)


def self_instruct(data: Path, rng: random.Random) -> list[Sample]:
    """Self-Instruct's 175 seeds and 252 instructions of real applications, by hand."""
    folder = data / "self_instruct"
    seeds = _rows(folder / "seed_tasks.jsonl")
    applied = _rows(folder / "user_oriented_instructions.jsonl")
    return [
        *_by_hand("self_instruct", seeds, SEED_TASKS),
        *_by_hand("self_instruct", applied, USER_ORIENTED),
    ]


def t0(data: Path, rng: random.Random) -> list[Sample]:
    """PromptSource templates filled in, by the template's name."""
    import pandas as pd

    table = pd.read_parquet(data / "self_instruct" / "t0_templates_30_each.parquet")
    found = []
    for template, text, dataset in zip(
        table["template"], table["prompt"], table["dataset"], strict=True
    ):
        task = _of_template(dataset, template)
        if task is not None:
            found.append(sample("t0", task, text)._replace(group=template))
    return some(found, MOST, rng)


def _of_template(dataset: str, template: str) -> TaskType | None:
    if template.endswith(SKIPPED):
        return None
    if dataset in WHOLE_DATASETS:
        return WHOLE_DATASETS[dataset]
    named = TEMPLATES.get(dataset, {})
    return next((task for end, task in named.items() if template.endswith(end)), None)


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").strip().split("\n")]


def _by_hand(source: str, rows: list[dict[str, Any]], labels: Labels) -> list[Sample]:
    return [sample(source, task, text) for text, task in _texts(rows, labels)]


def _texts(rows: list[dict[str, Any]], labels: Labels) -> Iterable[tuple[str, TaskType]]:
    for row, task in labelled(rows, labels):
        if task is not None and not EITHER.match(row["instruction"]):
            given = row["instances"][0]["input"]
            instruction = row["instruction"]
            yield (f"{instruction}\n\n{given}" if given else instruction), task
