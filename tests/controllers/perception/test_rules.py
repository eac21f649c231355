from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.controllers.perception.incoming import Prompt
from hmas.controllers.perception.rules import (
    HEAD_CHARACTERS,
    TAIL_CHARACTERS,
    bounded,
    classify,
)
from hmas.engine.features import TaskType

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"


@pytest.mark.parametrize(
    ("text", "task"),
    [
        ("```python\nfor x in y: pass\n```\nWhy does this loop fail?", TaskType.CODE_GENERATION),
        ("Write a Python function that reverses a list.", TaskType.CODE_GENERATION),
        ("Translate to French: the cat sleeps.", TaskType.TRANSLATION),
        ("请翻译这句话", TaskType.TRANSLATION),
        ("Summarize the following article in three sentences: ...", TaskType.SUMMARIZATION),
        ("Extract all named entities from the text below.", TaskType.EXTRACTION),
        ("Rephrase this so that it sounds more formal.", TaskType.PARAPHRASING),
        ("Write a cover letter for a nurse.", TaskType.LETTER_DRAFTING),
        ("Tom has 3 apples and buys 5 more. How many does he have?", TaskType.MATH_REASONING),
        ("Write an essay about the causes of the Great War.", TaskType.ESSAY_GENERATION),
        ("Write a short story about a lighthouse.", TaskType.LONG_FORM_GENERATION),
        ("Tell of a voyage to the moon in 2,000 words", TaskType.LONG_FORM_GENERATION),
        ("Prepare a literature review with citations.", TaskType.RESEARCH_AND_COMMUNICATION),
        ("What is the capital of Peru?", TaskType.QA),
        ("Give me five names for a bakery.", TaskType.INSTRUCTION_FOLLOWING),
        ("Hello! How are you today", TaskType.DIALOGUE),
    ],
)
def test_explicit_cues(text: str, task: TaskType) -> None:
    assert classify(Prompt(text=text)) is task


def test_a_cue_counts_at_the_beginning_of_a_word_only() -> None:
    assert classify(Prompt(text="rust and html")) is TaskType.CODE_GENERATION
    assert classify(Prompt(text="trust and xhtml")) is None


def test_a_cue_counts_once_however_often_it_occurs() -> None:
    assert classify(Prompt(text="zq rust " * 5)) is None
    assert classify(Prompt(text="zq rust golang")) is TaskType.CODE_GENERATION


def test_an_opening_counts_at_the_very_beginning_only() -> None:
    assert classify(Prompt(text="Suggest zq")) is TaskType.INSTRUCTION_FOLLOWING
    assert classify(Prompt(text="zq suggest xv")) is None


def test_says_nothing_when_nothing_is_said() -> None:
    assert classify(Prompt()) is None
    assert classify(Prompt(text="zq xv")) is None


def test_a_long_conversation_without_cues_is_a_dialogue() -> None:
    assert classify(Prompt(text="mhm", turns=7)) is TaskType.DIALOGUE


def test_shape_of_the_request_counts() -> None:
    assert classify(Prompt(text="zq xv", json_answer=True)) is TaskType.EXTRACTION
    assert classify(Prompt(text="zq xv", tools=3)) is TaskType.INSTRUCTION_FOLLOWING


def test_reading_is_bounded_and_keeps_both_ends() -> None:
    text = "Summarize this:" + "x" * 1_000_000 + " the end"
    read = bounded(text)
    assert len(read) <= HEAD_CHARACTERS + TAIL_CHARACTERS + 1
    assert read.startswith("Summarize")
    assert read.endswith("the end")
    assert classify(Prompt(text=text)) is TaskType.SUMMARIZATION


def test_lone_surrogates_hide_no_cue() -> None:
    assert classify(Prompt(text="\ud800 Translate this")) is TaskType.TRANSLATION


ANY_TEXT = st.text(st.characters(codec=None))


@given(ANY_TEXT, ANY_TEXT, st.integers(0, 50), st.booleans())
def test_any_text_is_read_without_error(text: str, system: str, turns: int, json: bool) -> None:
    prompt = Prompt(text=text, system=system, turns=turns, json_answer=json)
    assert classify(prompt) in {*TaskType, None}


@pytest.mark.skipif(not DATA.is_dir(), reason="needs the shared data folder")
def test_most_grade_school_problems_are_seen_as_math() -> None:
    lines = (DATA / "gsm8k" / "test.jsonl").read_text(encoding="utf-8").splitlines()
    prompts = [Prompt(text=json.loads(line)["question"]) for line in lines]
    seen = sum(classify(prompt) is TaskType.MATH_REASONING for prompt in prompts)
    assert seen / len(prompts) > 0.8
