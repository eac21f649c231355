from __future__ import annotations

from hmas.controllers.perception.priors import MAX_TENANTS, WINDOW, TaskPrior, TokenRatio
from hmas.engine.features import TaskType


def test_says_nothing_before_it_has_seen_enough() -> None:
    prior = TaskPrior()
    prior.add("a", TaskType.QA)
    assert prior.task_type("a") is None


def test_own_history_beats_everyones() -> None:
    prior = TaskPrior()
    for _ in range(30):
        prior.add("a", TaskType.QA)
    for _ in range(10):
        prior.add("b", TaskType.TRANSLATION)
    assert prior.task_type("b") is TaskType.TRANSLATION
    assert prior.task_type("stranger") is TaskType.QA


def test_the_window_forgets() -> None:
    prior = TaskPrior()
    for _ in range(WINDOW):
        prior.add("a", TaskType.QA)
    for _ in range(WINDOW):
        prior.add("a", TaskType.DIALOGUE)
    assert prior.task_type("a") is TaskType.DIALOGUE


def test_many_tenants_do_not_grow_it_without_bound() -> None:
    prior = TaskPrior()
    for _ in range(10):
        prior.add("first", TaskType.QA)
    for tenant in range(MAX_TENANTS * 2):
        prior.add(f"t{tenant}", TaskType.DIALOGUE)
    assert prior.task_type("first") is TaskType.DIALOGUE


def test_token_ratio_learns() -> None:
    ratio = TokenRatio()
    assert ratio.tokens(400) == 100
    assert ratio.tokens(1) == 1
    assert ratio.tokens(0) == 0
    ratio.observe(0, 10)
    for _ in range(10):
        ratio.observe(300, 150)
    assert ratio.tokens(400) == 200
