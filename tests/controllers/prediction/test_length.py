from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hmas.controllers.prediction.base import Question
from hmas.controllers.prediction.history import HistoryPredictor
from hmas.controllers.prediction.length import MAX_PENDING, LengthPredictor
from hmas.engine.events import Outcome
from tests.controllers.prediction.length_support import ask, finished, small_model
from tests.controllers.prediction.test_length_features import questions


def fresh() -> LengthPredictor:
    return LengthPredictor(small_model())


def errors(predictor: LengthPredictor | HistoryPredictor, traffic: list[tuple[str, int]]) -> float:
    """Mean absolute error, each request predicted before it is learned."""
    total = 0.0
    for number, (text, truth) in enumerate(traffic):
        question = ask(text, request_id=f"r{number}")
        total += abs(predictor.predict(question).output_tokens - truth)
        predictor.observe(finished(question, truth))
    return total / len(traffic)


def own_traffic(count: int, seed: int = 0) -> list[tuple[str, int]]:
    """Words that the trained model never saw decide; the model knows nothing of this."""
    rng = np.random.default_rng(seed)
    lengths = {"invoice": 20, "contract": 400, "memo": 90}
    names = list(lengths)
    picked = [names[rng.integers(3)] for _ in range(count)]
    return [
        (
            f"handle the {name} no{rng.integers(99)}",
            max(1, round(lengths[name] * rng.lognormal(0, 0.15))),
        )
        for name in picked
    ]


def test_a_stranger_gets_the_models_answer() -> None:
    answer = fresh().predict(ask("please list topic3"))
    assert answer.output_tokens == pytest.approx(200, rel=0.4)
    assert answer.length_source == "model"
    assert answer.upper_tokens is None, "nothing finished yet"


def test_it_improves_by_itself_on_traffic_of_its_own() -> None:
    predictor = fresh()
    first = errors(predictor, own_traffic(50))
    errors(predictor, own_traffic(400, seed=1))
    later = errors(predictor, own_traffic(400, seed=2))
    assert later < 0.5 * first
    history = HistoryPredictor()
    errors(history, own_traffic(450, seed=1))
    assert later < 0.6 * errors(history, own_traffic(400, seed=2))


def test_not_worse_than_history_where_the_words_mislead() -> None:
    """All answers have one length, whatever the words: the history is right, the model wrong."""
    rng = np.random.default_rng(3)
    traffic = [
        (f"please {word} topic{rng.integers(17)}", int(rng.integers(45, 56)))
        for word in rng.choice(["list", "yes", "why", "essay"], 600)
    ]
    predictor, history = fresh(), HistoryPredictor()
    errors(predictor, traffic[:300])
    errors(history, traffic[:300])
    assert errors(predictor, traffic[300:]) <= errors(history, traffic[300:]) + 1


def test_the_bound_holds_nine_times_in_ten() -> None:
    predictor, within = fresh(), []
    for number, (text, truth) in enumerate(own_traffic(1500)):
        question = ask(text, request_id=f"r{number}")
        upper = predictor.predict(question).upper_tokens
        if upper is not None:
            within.append(truth <= upper)
        predictor.observe(finished(question, truth))
    assert len(within) > 1400
    assert np.mean(within) == pytest.approx(0.9, abs=0.02)
    assert predictor.bound.coverage() == pytest.approx(0.9, abs=0.03)


def test_a_hint_is_believed_until_it_was_wrong() -> None:
    predictor = fresh()
    assert predictor.predict(ask("please list topic3", hinted=77)).output_tokens == 77
    for number in range(80):
        question = ask("please list topic3", hinted=5000, request_id=f"r{number}")
        predictor.predict(question)
        predictor.observe(finished(question, 200))
    assert predictor.predict(ask("please list topic3", hinted=5000)).output_tokens < 500


def test_a_cap_bounds_both_answers() -> None:
    predictor = fresh()
    errors(predictor, own_traffic(100))
    answer = predictor.predict(ask("please essay topic3", cap=10))
    assert (answer.output_tokens, answer.upper_tokens) == (10, 10)


def test_a_session_is_remembered() -> None:
    predictor = fresh()
    for number in range(100):
        session = f"s{number % 2}"
        question = ask("go on", session=session, request_id=f"r{number}")
        predictor.predict(question)
        predictor.observe(finished(question, 20 if number % 2 else 800))
    short = predictor.predict(ask("go on", session="s1")).output_tokens
    assert short < 100 < predictor.predict(ask("go on", session="s0")).output_tokens


def test_requests_cut_off_teach_nothing() -> None:
    predictor = fresh()
    before = predictor.predict(ask("please list topic3"))
    for number in range(50):
        question = ask("please list topic3", request_id=f"r{number}")
        predictor.predict(question)
        predictor.observe(finished(question, 1, Outcome.ABORTED))
    assert predictor.predict(ask("please list topic3")) == before


def test_latencies_are_those_of_the_history() -> None:
    predictor = fresh()
    errors(predictor, own_traffic(20))
    assert predictor.predict(ask("x")).ttft_ms == pytest.approx(200)


def test_questions_that_never_finish_are_forgotten() -> None:
    predictor = fresh()
    first = ask("please list topic3", request_id="first")
    predictor.predict(first)
    for number in range(MAX_PENDING):
        predictor.predict(ask("x", request_id=f"r{number}"))
    predictor.observe(finished(first, 10))
    assert predictor.bound.margin(0) is None


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(questions, st.integers(0, 2**31)), min_size=1, max_size=8))
def test_hostile_questions(traffic: list[tuple[Question, int]]) -> None:
    predictor = fresh()
    for question, tokens in traffic:
        answer = predictor.predict(question)
        cap = question.max_output_tokens
        assert answer.output_tokens >= (1 if cap is None else min(1, cap))
        assert cap is None or answer.output_tokens <= cap
        assert answer.upper_tokens is None or answer.upper_tokens >= answer.output_tokens
        short = ask(request_id=question.request_id, tenant="t")
        predictor.observe(finished(short, tokens))
