from __future__ import annotations

import pytest

from hmas.controllers.prediction.base import Question
from hmas.controllers.prediction.history import (
    DEFAULT_OUTPUT_TOKENS,
    GroupedSamples,
    HistoryPredictor,
)
from hmas.engine.events import Outcome, RequestFinished
from hmas.engine.features import RequestFeatures, TaskType


def finished(
    output_tokens: int,
    tenant: str = "a",
    task: TaskType = TaskType.QA,
    outcome: Outcome = Outcome.COMPLETED,
    prompt_tokens: int = 100,
) -> RequestFinished:
    return RequestFinished(
        at_s=1.0,
        features=RequestFeatures(request_id="r", arrival_s=0.0, tenant=tenant, task_type=task),
        outcome=outcome,
        prompt_tokens=prompt_tokens,
        output_tokens=output_tokens,
        ttft_s=0.001 * prompt_tokens + 1.0,
        tpot_s=0.02,
        queue_s=1.0,
    )


def ask(tenant: str = "a", task: TaskType = TaskType.QA, prompt_tokens: int = 100) -> Question:
    return Question(tenant=tenant, task_type=task, prompt_tokens=prompt_tokens)


def test_knows_nothing_at_first() -> None:
    answer = HistoryPredictor().predict(ask())
    assert (answer.output_tokens, answer.ttft_ms, answer.tpot_ms) == (DEFAULT_OUTPUT_TOKENS, 0, 0)


def test_the_narrowest_group_with_enough_samples_answers() -> None:
    predictor = HistoryPredictor()
    for _ in range(10):
        predictor.observe(finished(10, tenant="a"))
        predictor.observe(finished(30, tenant="b"))
        predictor.observe(finished(30, tenant="b"))
    assert predictor.predict(ask("a")).output_tokens == 10
    assert predictor.predict(ask("stranger")).output_tokens == 30
    assert predictor.predict(ask("stranger", TaskType.DIALOGUE)).output_tokens == 30


def test_latencies_without_the_queue() -> None:
    predictor = HistoryPredictor()
    for _ in range(10):
        predictor.observe(finished(10, prompt_tokens=100))
        predictor.observe(finished(10, prompt_tokens=3000))
    assert predictor.predict(ask(prompt_tokens=110)).ttft_ms == pytest.approx(100)
    assert predictor.predict(ask(prompt_tokens=2500)).ttft_ms == pytest.approx(3000)
    assert predictor.predict(ask()).tpot_ms == pytest.approx(20)


def test_cut_off_requests_teach_nothing() -> None:
    predictor = HistoryPredictor()
    for _ in range(20):
        predictor.observe(finished(1, outcome=Outcome.ABORTED))
        predictor.observe(finished(0))
    assert predictor.predict(ask()).output_tokens == DEFAULT_OUTPUT_TOKENS


@pytest.mark.parametrize(
    ("hint", "cap", "expected"),
    [(None, 16, 16), (700, None, 700), (700, 64, 64), (10, 64, 10), (None, 0, 0)],
)
def test_hints_and_caps(hint: int | None, cap: int | None, expected: int) -> None:
    question = Question("a", TaskType.QA, 10, hinted_output_tokens=hint, max_output_tokens=cap)
    assert HistoryPredictor().predict(question).output_tokens == expected


def test_groups_are_bounded() -> None:
    samples: GroupedSamples[int] = GroupedSamples(max_groups=3)
    for key in range(10):
        samples.add(key, 1.0)
    assert len(samples) == 3
