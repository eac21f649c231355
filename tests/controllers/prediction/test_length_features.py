from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.controllers.perception.incoming import Prompt
from hmas.controllers.prediction.base import Question
from hmas.controllers.prediction.length_features import (
    BUCKETS,
    NUMBERS,
    read_features,
    read_text,
)
from hmas.engine.features import TaskType
from tests.controllers.prediction.length_support import ask

hostile_texts = st.text(max_size=3000) | st.sampled_from(
    ["\ud800", "\x00" * 9000, "a" * 100_000, "🙂" * 5000, "list 99999999999999", "١٢٣ words"]
)
prompts = st.builds(
    Prompt,
    text=hostile_texts,
    system=hostile_texts,
    size_bytes=st.integers(0, 2**40),
    turns=st.integers(-5, 2**31),
    tools=st.integers(-5, 2**31),
    json_answer=st.booleans(),
)
questions: Any = st.builds(
    Question,
    tenant=hostile_texts,
    task_type=st.sampled_from(TaskType),
    prompt_tokens=st.integers(-1, 2**31),
    hinted_output_tokens=st.none() | st.integers(0, 2**31),
    max_output_tokens=st.none() | st.integers(0, 2**31),
    model=hostile_texts,
    session=st.none() | hostile_texts,
    temperature=st.none() | st.floats(),
    prompt=prompts,
    request_id=st.text(max_size=8),
)


def number(question: Question, name: str) -> float:
    return read_features(question).numbers[NUMBERS.index(name)]


@given(questions)
def test_any_question_has_finite_features(question: Question) -> None:
    features = read_features(question)
    assert len(features.numbers) == len(NUMBERS)
    assert all(math.isfinite(one) for one in features.numbers)
    assert 0 <= features.buckets.min() <= features.buckets.max() < BUCKETS
    assert len(np.unique(features.buckets)) == len(features.buckets)


def test_what_the_client_sets_is_seen() -> None:
    assert number(ask("hi", cap=100), "max_output_tokens") == pytest.approx(math.log(101))
    assert number(ask("hi"), "max_output_tokens") == -1
    assert number(ask("hi", tools=1), "tools") > 0
    assert number(ask("why?"), "is_question") == 1
    assert number(ask("answer in 200 words"), "wished_tokens") > 5


def test_prompts_of_one_template_share_their_opening() -> None:
    one, other = ask("summarise this ticket: printer"), ask("summarise this ticket: network")
    assert read_features(one).opening == read_features(other).opening
    assert read_features(one).opening != read_features(ask("translate this ticket")).opening


def test_the_work_does_not_grow_with_the_prompt() -> None:
    long = read_features(ask("word salad of many different kinds " * 100_000))
    assert len(long.buckets) < 300


def test_a_model_that_means_nothing_counts_as_not_said() -> None:
    said, unsaid = ask("why"), ask("why")
    said = msgspec.structs.replace(said, model="gpt-0")
    unsaid = msgspec.structs.replace(unsaid, model="")
    assert read_text(said, {"other"}) == read_text(unsaid)
    assert read_text(said, {"gpt-0"}) == read_text(said) != read_text(unsaid)
