from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.controllers.perception.chain import Classifier, Guess, Perception, Source
from hmas.controllers.perception.incoming import (
    Claims,
    Incoming,
    Prompt,
    TenantDefaults,
)
from hmas.controllers.prediction.history import DEFAULT_OUTPUT_TOKENS, HistoryPredictor
from hmas.engine.events import Outcome, RequestFinished
from hmas.engine.features import RequestFeatures, TaskType, decode_features, encode_features

TRANSLATE = Prompt(text="Translate this to German", size_bytes=24)
SILENT = Prompt(text="zq xv", size_bytes=5)


class FixedClassifier:
    def __init__(self, answer: TaskType, probability: float = 0.9) -> None:
        self.answer = Guess(answer, probability)
        self.asked = 0

    def classify(self, prompt: Prompt, budget_s: float) -> Guess | None:
        self.asked += 1
        return self.answer


class BrokenClassifier:
    def classify(self, prompt: Prompt, budget_s: float) -> Guess | None:
        raise RuntimeError("weights are gone")


def incoming(
    prompt: Prompt = SILENT,
    claims: Claims | None = None,
    defaults: TenantDefaults | None = None,
    max_output_tokens: int | None = None,
) -> Incoming:
    return Incoming(
        request_id="r1",
        arrival_s=10.0,
        defaults=defaults or TenantDefaults(),
        claims=claims or Claims(),
        prompt=prompt,
        max_output_tokens=max_output_tokens,
    )


def perception(classifier: Classifier | None = None, **kwargs: float) -> Perception:
    return Perception(HistoryPredictor(), classifier=classifier, **kwargs)  # type: ignore[arg-type]


def finished(features: RequestFeatures, output_tokens: int) -> RequestFinished:
    return RequestFinished(
        at_s=11.0,
        features=features,
        outcome=Outcome.COMPLETED,
        prompt_tokens=features.prompt_tokens,
        output_tokens=output_tokens,
        ttft_s=0.1,
        tpot_s=0.01,
    )


@pytest.mark.parametrize(
    ("request_", "task", "source"),
    [
        (
            incoming(
                TRANSLATE,
                Claims(task_type=TaskType.QA),
                TenantDefaults(task_type=TaskType.DIALOGUE),
            ),
            TaskType.QA,
            Source.EXPLICIT,
        ),
        (
            incoming(TRANSLATE, defaults=TenantDefaults(task_type=TaskType.DIALOGUE)),
            TaskType.DIALOGUE,
            Source.TENANT,
        ),
        (incoming(TRANSLATE), TaskType.EXTRACTION, Source.LEARNED),
        (incoming(SILENT), TaskType.EXTRACTION, Source.LEARNED),
    ],
)
def test_order_of_the_chain(request_: Incoming, task: TaskType, source: Source) -> None:
    tagger = perception(FixedClassifier(TaskType.EXTRACTION))
    features = tagger.tag(request_)
    assert features.task_type is task
    assert features.known
    assert tagger.counts == {source: 1}


def test_the_rules_answer_where_the_learned_classifier_is_not_sure() -> None:
    tagger = perception(FixedClassifier(TaskType.EXTRACTION, 0.1))
    assert tagger.tag(incoming(TRANSLATE)).task_type is TaskType.TRANSLATION
    assert tagger.counts == {Source.RULES: 1}
    unsure = perception(FixedClassifier(TaskType.UNKNOWN, 0.9))
    assert unsure.tag(incoming(TRANSLATE)).task_type is TaskType.TRANSLATION


def test_the_rules_answer_when_there_is_no_time_for_more() -> None:
    ticks = iter([0.0, 0.1, 0.2, 0.3])
    tagger = Perception(
        HistoryPredictor(),
        classifier=FixedClassifier(TaskType.QA),
        budget_s=0.002,
        timer=lambda: next(ticks),
    )
    assert tagger.tag(incoming(TRANSLATE)).task_type is TaskType.TRANSLATION


def test_nothing_known_is_served_as_unknown() -> None:
    features = perception().tag(incoming())
    assert features.task_type is TaskType.UNKNOWN
    assert not features.known
    assert (features.slo_ttft_ms, features.slo_tpot_ms) == (6000, 100)
    assert features.predicted_output_tokens == DEFAULT_OUTPUT_TOKENS


def test_unknown_takes_the_cost_profile_of_the_most_frequent_task() -> None:
    tagger = perception()
    for _ in range(20):
        known = tagger.tag(incoming(TRANSLATE))
        tagger.observe(finished(known, 40))
    features = tagger.tag(incoming())
    assert features.task_type is TaskType.UNKNOWN
    assert not features.known
    assert (features.slo_ttft_ms, features.predicted_output_tokens) == (4500, 40)
    assert features.predicted_tpot_ms == pytest.approx(10)


def test_a_guess_that_is_not_probable_enough_counts_as_unknown() -> None:
    sure = perception(FixedClassifier(TaskType.QA, 0.6), min_probability=0.55)
    assert sure.tag(incoming()).task_type is TaskType.QA
    unsure = perception(FixedClassifier(TaskType.QA, 0.5), min_probability=0.55)
    assert not unsure.tag(incoming()).known


def test_explained_answers_say_how_probable_the_task_is() -> None:
    learned = perception(FixedClassifier(TaskType.QA, 0.6)).explain(incoming())
    assert (learned.source, learned.probability) == (Source.LEARNED, 0.6)
    assert learned.prediction.output_tokens == learned.features.predicted_output_tokens
    unsure = perception(FixedClassifier(TaskType.QA, 0.2)).explain(incoming())
    assert (unsure.source, unsure.probability) == (Source.PRIOR, 0.2)
    said = perception().explain(incoming(claims=Claims(task_type=TaskType.QA)))
    assert (said.source, said.probability) == (Source.EXPLICIT, 1.0)
    assert perception().explain(incoming()).probability is None


def test_a_broken_classifier_is_counted_and_the_request_is_unknown() -> None:
    tagger = perception(BrokenClassifier())
    assert not tagger.tag(incoming()).known
    assert tagger.classifier_errors == 1


def test_no_further_stage_starts_when_the_budget_is_used_up() -> None:
    ticks = iter([0.0, 0.1, 0.2, 0.3])
    classifier = FixedClassifier(TaskType.QA)
    tagger = Perception(
        HistoryPredictor(), classifier=classifier, budget_s=0.002, timer=lambda: next(ticks)
    )
    assert not tagger.tag(incoming()).known
    assert classifier.asked == 0
    assert tagger.overruns == 1


def test_clients_may_lower_but_not_raise_their_own_standing() -> None:
    tier = TenantDefaults(tenant="acme", priority=2, importance=0.6)
    up = Claims(priority=9, importance=1.0, tenant="other")
    features = perception().tag(incoming(claims=up, defaults=tier))
    assert (features.tenant, features.priority, features.importance) == ("acme", 2, 0.75)
    down = Claims(priority=-3, importance=0.5)
    features = perception().tag(incoming(claims=down, defaults=tier))
    assert (features.priority, features.importance) == (-3, 0.5)


def test_trusted_claims_are_believed() -> None:
    tier = TenantDefaults(tenant="acme", trusted=True)
    claims = Claims(priority=9, importance=1.0, tenant="other")
    features = perception().tag(incoming(claims=claims, defaults=tier))
    assert (features.tenant, features.priority, features.importance) == ("other", 9, 1.0)


def test_claimed_targets_win_within_the_tier() -> None:
    claims = Claims(slo_ttft_ms=100, slo_tpot_ms=5)
    features = perception().tag(incoming(claims=claims))
    assert (features.slo_ttft_ms, features.slo_tpot_ms) == (100, 5)
    assert features.known
    tier = TenantDefaults(min_slo_ttft_ms=500, slo_tpot_ms=30)
    features = perception().tag(incoming(claims=Claims(slo_ttft_ms=100), defaults=tier))
    assert (features.slo_ttft_ms, features.slo_tpot_ms) == (500, 30)


def test_lengths() -> None:
    hinted = incoming(TRANSLATE, Claims(output_tokens=700), max_output_tokens=64)
    features = perception().tag(hinted)
    assert features.predicted_output_tokens == 64
    assert features.prompt_tokens == 6
    counted = incoming(Prompt(token_ids=900, size_bytes=10))
    assert perception().tag(counted).prompt_tokens == 900


@given(
    text=st.text(max_size=300),
    size=st.integers(0, 2**40),
    cap=st.none() | st.integers(0, 2**31),
    slo_ms=st.none() | st.floats(0.001, 1e7),
    priority=st.none() | st.integers(-1000, 1000),
    trusted=st.booleans(),
)
def test_features_always_travel(
    *,
    text: str,
    size: int,
    cap: int | None,
    slo_ms: float | None,
    priority: int | None,
    trusted: bool,
) -> None:
    request = incoming(
        Prompt(text=text, size_bytes=size),
        Claims(slo_ttft_ms=slo_ms, slo_tpot_ms=slo_ms, priority=priority),
        TenantDefaults(trusted=trusted),
        cap,
    )
    features = perception().tag(request)
    assert decode_features(encode_features(features)) == features
