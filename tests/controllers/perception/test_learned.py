from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from time import thread_time

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hmas.controllers.perception.incoming import Prompt
from hmas.controllers.perception.learned import (
    MAGIC,
    Card,
    ModelFileError,
    TaskModel,
    Weights,
    load,
    pack,
    unpack,
    with_metrics,
)
from hmas.controllers.perception.text_features import ROWS, prompt_rows
from hmas.controllers.perception.text_kernel import BUCKETS
from hmas.engine.features import TaskType

TASKS = (TaskType.QA, TaskType.TRANSLATION)
ANY_TEXT = st.text(st.characters(codec=None), max_size=2000)


def card(**changes: object) -> Card:
    made = Card(
        version="1", tasks=TASKS, rows=ROWS, temperature=1.0, min_probability=0.2, sha256=""
    )
    return msgspec.structs.replace(made, **changes)


def weights(towards: str = "") -> Weights:
    """Rows of ``towards`` speak for Translation."""
    rows = np.zeros((ROWS, len(TASKS)), dtype=np.int8)
    if towards:
        of_words = prompt_rows(Prompt(text=towards)).row
        rows[of_words[of_words < BUCKETS], 1] = 50
    return Weights(rows, np.full(2, 0.1, np.float32), np.array([0.5, 0.0], np.float32))


def test_a_model_comes_back_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "task.hmas"
    path.write_bytes(pack(card(), weights("translate this")))
    model = load(path)
    found = model.classify(Prompt(text="translate this"))
    assert found is not None
    assert found.task_type is TaskType.TRANSLATION
    assert found.probability > 0.9
    other = model.classify(Prompt(text="zq"))
    assert other is not None
    assert other.task_type is TaskType.QA


def test_nothing_is_said_of_nothing_and_little_of_the_improbable() -> None:
    model = unpack(pack(card(min_probability=0.9), weights()))
    assert model.classify(Prompt()) is None
    unsure = model.classify(Prompt(text="zq"))
    assert unsure is not None
    assert unsure.task_type is TaskType.UNKNOWN


def test_the_temperature_softens_probabilities() -> None:
    sharp = unpack(pack(card(), weights("zq"))).probabilities(Prompt(text="zq"))
    soft = unpack(pack(card(temperature=4.0), weights("zq"))).probabilities(Prompt(text="zq"))
    assert sharp.sum() == pytest.approx(1)
    assert soft.max() < sharp.max()


def test_metrics_are_written_into_the_card() -> None:
    content = with_metrics(pack(card(), weights("zq")), {"accuracy": 0.5})
    assert unpack(content).card.metrics == {"accuracy": 0.5}


@pytest.mark.parametrize("kept", [0, 5, len(MAGIC) + 2, 60, 400, -20])
def test_a_cut_file_is_refused(kept: int) -> None:
    with pytest.raises(ModelFileError):
        unpack(pack(card(), weights("zq"))[:kept])


def test_other_arrays_than_the_cards_are_refused() -> None:
    content = pack(card(), weights("zq"))
    other = pack(card(), weights("xv"))
    size = len(MAGIC) + 4 + int.from_bytes(content[len(MAGIC) : len(MAGIC) + 4], "little")
    with pytest.raises(ModelFileError, match="checksum"):
        unpack(content[:size] + other[size:])


def test_a_model_of_other_features_is_refused() -> None:
    with pytest.raises(ModelFileError, match="train it again"):
        unpack(pack(card(rows=12), weights()))


@settings(max_examples=50)
@given(st.binary(max_size=200), st.integers(0, 10**6))
def test_damage_anywhere_is_one_kind_of_error(noise: bytes, place: int) -> None:
    content = bytearray(pack(card(), weights("zq")))
    place %= len(content)
    content[place : place + len(noise)] = noise
    with suppress(ModelFileError):
        unpack(bytes(content))


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"nowhere\.hmas"):
        load(tmp_path / "nowhere.hmas")


@pytest.fixture(scope="module")
def shipped() -> TaskModel:
    return load()


@settings(max_examples=300)
@given(
    text=ANY_TEXT,
    system=ANY_TEXT,
    turns=st.integers(0, 10**6),
    tools=st.integers(0, 5),
    json_answer=st.booleans(),
)
def test_the_shipped_model_answers_any_prompt(
    *, shipped: TaskModel, text: str, system: str, turns: int, tools: int, json_answer: bool
) -> None:
    prompt = Prompt(text=text, system=system, turns=turns, tools=tools, json_answer=json_answer)
    guess = shipped.classify(prompt)
    if guess is not None:
        assert guess.task_type in TaskType
        assert 0 < guess.probability <= 1
    assert (guess is None) == (not text)


@pytest.mark.parametrize("unit", ["word ", "\ud800", "字", "{};" * 9, "1 2 ", "?", "\x00", "\n1. "])
def test_a_huge_prompt_costs_no_more_than_a_long_one(shipped: TaskModel, unit: str) -> None:
    prompt = Prompt(text=unit * (2_000_000 // len(unit)), system=unit * 10_000)
    shipped.classify(prompt)
    begun_s = thread_time()
    for _ in range(20):
        shipped.classify(prompt)
    assert (thread_time() - begun_s) / 20 < 0.01


@pytest.mark.parametrize(
    ("text", "task"),
    [
        ("Translate the following sentence into Spanish: I am tired.", TaskType.TRANSLATION),
        ("Summarize the text below.\n\nThe river rose by two metres.", TaskType.SUMMARIZATION),
        ("Write a Python function that adds two numbers.", TaskType.CODE_GENERATION),
        ("Who was the first person on the moon?", TaskType.QA),
        ("Write a cover letter for a job as a carpenter.", TaskType.LETTER_DRAFTING),
        ("Write a short story about a fox.", TaskType.LONG_FORM_GENERATION),
        ("Write an essay on the causes of inflation.", TaskType.ESSAY_GENERATION),
        ("Rewrite this sentence in the passive voice: Tom ate it.", TaskType.PARAPHRASING),
        ("Ben has 12 pens and gives 5 away. How many are left?", TaskType.MATH_REASONING),
        ("Give me five tips for a first marathon.", TaskType.INSTRUCTION_FOLLOWING),
    ],
)
def test_the_shipped_model_knows_plain_requests(
    shipped: TaskModel, text: str, task: TaskType
) -> None:
    guess = shipped.classify(Prompt(text=text, size_bytes=len(text)))
    assert guess is not None
    assert guess.task_type is task


def test_serving_imports_no_training_library() -> None:
    code = (
        "import sys; from hmas.controllers.perception.learned import load; load();"
        "print(sorted({'sklearn', 'pandas', 'datasketch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
