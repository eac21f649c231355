"""The classifier out of own labels: split by near-duplicates, measured, with its card."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from hmas.controllers.perception.incoming import Prompt
from hmas.controllers.perception.learned import unpack
from hmas.controllers.perception.training import Sample
from hmas.daemon.training.own_tasks import LICENCE, MIN_PER_TASK, train_on_own
from hmas.engine.features import TaskType

pytest.importorskip("sklearn", reason="training needs the extra 'train'")
pytest.importorskip("datasketch", reason="training needs the extra 'train'")

LETTERS = "bcdfghjklmnpqrstvwz"
QA, CODE, ESSAY = TaskType.QA, TaskType.CODE_GENERATION, TaskType.ESSAY_GENERATION


def words(rng: random.Random, count: int) -> str:
    return " ".join("".join(rng.choices(LETTERS, k=6)) for _ in range(count))


def samples(*tasks: TaskType, of_each: int = 30) -> list[Sample]:
    """Each task has a word of its own, said twice; the rest is noise."""
    rng = random.Random(5)
    return [
        Sample("own: a.jsonl", Prompt(text=f"{task.value}zq {words(rng, 5)} {task.value}zq"), task)
        for task in tasks
        for _ in range(of_each)
    ]


def silent(_: str) -> None:
    """Nobody watches."""


@pytest.mark.parametrize("tasks", [(QA, CODE), (QA, CODE, ESSAY)])
def test_own_labels_are_learned_and_measured(tasks: tuple[TaskType, ...]) -> None:
    content, page, report = train_on_own(samples(*tasks), None, 3, silent)
    model = unpack(content)
    assert set(model.card.tasks) == set(tasks)
    for task in tasks:
        guess = model.classify(Prompt(text=f"{task.value}zq omega {task.value}zq"))
        assert guess is not None
        assert guess.task_type is task
    assert report["own_model"] >= 0.9
    assert report["tested_on"] == 6 * len(tasks)
    assert sum(sum(row.values()) for row in report["own_confusion"].values()) == 6 * len(tasks)
    assert model.card.licence == LICENCE
    assert model.card.metrics["own_model"] == report["own_model"]
    assert model.card.trained_on == {"own: a.jsonl": 24 * len(tasks)}
    assert "| own: a.jsonl | " in page
    assert model.card.data_hash in page


def test_the_same_labels_and_seed_give_the_same_bytes() -> None:
    own = samples(QA, CODE, of_each=12)
    assert train_on_own(own, None, 3, silent)[:2] == train_on_own(own, None, 3, silent)[:2]


def test_near_duplicates_are_on_one_side() -> None:
    own = samples(QA, CODE, of_each=12)
    twins = [one._replace(prompt=Prompt(text=one.prompt.text + " .")) for one in own]
    *_, report = train_on_own([*own, *twins], None, 0, silent)
    assert report["near_duplicates_removed"] == 0
    assert report["trained_on"] + report["tested_on"] == 48
    assert report["tested_on"] % 2 == 0


def test_too_few_of_a_task_are_named_with_what_to_do() -> None:
    own = [*samples(QA), *samples(CODE, of_each=MIN_PER_TASK - 1)]
    with pytest.raises(ValueError, match=r"CodeGeneration \(9\): label at least 10 .* --data DIR"):
        train_on_own(own, None, 0, silent)


def test_one_task_alone_is_nothing_to_tell_apart() -> None:
    with pytest.raises(ValueError, match="all prompts have one task type"):
        train_on_own(samples(QA), None, 0, silent)


def test_prompts_that_are_all_alike_cannot_be_learned_and_tested() -> None:
    alike = [Sample("own: a.jsonl", Prompt(text="always the same words here"), QA)] * 20
    own, seed_that_holds_them_out = [*samples(CODE, of_each=10), *alike], 10
    with pytest.raises(ValueError, match="too much alike"):
        train_on_own(own, None, seed_that_holds_them_out, silent)


def test_public_sets_that_are_not_there_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        train_on_own(samples(QA, CODE), tmp_path, 0, silent)
