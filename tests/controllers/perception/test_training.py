from __future__ import annotations

import random

import pytest

from hmas.controllers.perception.incoming import Prompt
from hmas.controllers.perception.learned import unpack
from hmas.controllers.perception.training import (
    TASKS,
    Sample,
    calibrate,
    data_hash,
    fit,
    quantized,
    train,
)
from hmas.engine.features import TaskType

pytest.importorskip("sklearn", reason="training needs the extra 'train'")

WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta")


def samples(of_each: int = 12) -> list[Sample]:
    """Each task has a word of its own; the rest is noise."""
    rng = random.Random(4)
    return [
        Sample("made", Prompt(text=f"{task.value}zq {' '.join(rng.sample(WORDS, 3))}"), task)
        for task in TASKS
        for _ in range(of_each)
    ]


def test_what_was_trained_is_known() -> None:
    model = unpack(train(samples(), 3))
    for task in TASKS:
        guess = model.classify(Prompt(text=f"{task.value}zq omega"))
        assert guess is not None
        assert guess.task_type is task
    assert model.card.trained_on == {"made": 12 * len(TASKS)}
    assert model.card.seed == 3


def test_the_same_samples_and_seed_give_the_same_bytes() -> None:
    assert train(samples(6), 3) == train(samples(6), 3)


def test_every_task_needs_samples() -> None:
    with pytest.raises(ValueError, match="QA"):
        train([one for one in samples(2) if one.task_type is not TaskType.QA], 0)


def test_the_hash_follows_prompts_labels_and_order() -> None:
    some = samples(2)
    assert data_hash(some) == data_hash(samples(2))
    assert data_hash(some) != data_hash(some[::-1])
    assert data_hash(some) != data_hash([some[0]._replace(task_type=TaskType.DIALOGUE), *some[1:]])


def test_quantization_costs_little() -> None:
    found = fit(samples(4))
    weights = quantized(found)
    again = weights.rows * weights.scale
    assert abs(again - found.weights).max() <= weights.scale.max()


def test_labels_that_mean_nothing_are_calibrated_to_doubt() -> None:
    known = samples(8)
    rng = random.Random(1)
    shuffled = [one._replace(task_type=rng.choice(TASKS)) for one in known]
    found = fit(known)
    assert calibrate(found, shuffled)[0] > calibrate(found, known)[0]
