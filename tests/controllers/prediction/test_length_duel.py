from __future__ import annotations

from math import log1p

import msgspec
import numpy as np
import pytest

from hmas.controllers.prediction.duel import Drift, DuelConfig, DuelState, Standing
from hmas.controllers.prediction.length import LengthPredictor
from hmas.controllers.prediction.length_duel import LengthDuel, sentence
from hmas.controllers.prediction.length_features import read_features
from hmas.controllers.prediction.length_model import LengthModel
from tests.controllers.prediction.length_support import (
    ask,
    finished,
    off_model,
    small_model,
    traffic,
)

QUICK = DuelConfig(min_requests=100, window=200, every=50, block=10, recent=50)


def run(predictor: LengthPredictor, count: int, seed: int = 0, factor: float = 1.0) -> None:
    """Made-up traffic; ``factor`` makes all answers longer than any model expects."""
    for number, example in enumerate(traffic(count, seed, tools=False)):
        question = msgspec.structs.replace(example.question, request_id=f"{seed}-{number}")
        predictor.predict(question)
        predictor.observe(finished(question, max(1, round(example.output_tokens * factor))))


def test_a_better_model_takes_over_and_the_former_stays_beside_it() -> None:
    bad, good = off_model(1.0), small_model()
    predictor = LengthPredictor(bad, challenger=good)
    assert predictor.duel.other is good
    run(predictor, 400)
    assert predictor.model is bad
    run(predictor, 400, seed=1)
    assert predictor.model is good
    assert predictor.duel.other is bad
    state = predictor.duel.state()
    assert state.champion_loss is not None
    assert state.other_loss is not None
    assert state.champion_loss < 0.5 * state.other_loss


def test_a_worse_model_does_not() -> None:
    predictor = LengthPredictor(small_model(), challenger=off_model(0.5))
    run(predictor, 1200)
    assert predictor.model is small_model()
    assert predictor.duel.state().standing is Standing.SHADOW


def test_it_goes_back_when_the_traffic_turns() -> None:
    """The challenger expects answers e times as long: right for a while, then not."""
    short, long = small_model(), off_model(1.0)
    predictor = LengthPredictor(short, challenger=long)
    run(predictor, 800, factor=float(np.e))
    assert predictor.model is long
    run(predictor, 800, seed=1)
    assert predictor.model is short
    assert predictor.duel.state().standing is Standing.QUARANTINED
    run(predictor, 800, seed=2, factor=float(np.e))
    assert predictor.model is short, "no second chance before a restart"


def test_a_model_is_judged_by_what_it_said_itself_even_after_a_change_of_roles() -> None:
    bad, good = off_model(1.0), small_model()
    duel = LengthDuel(bad, good, QUICK)
    features, session = read_features(ask("please list topic3")), [-1.0, -1.0, 0.0]
    said = {model: model.guess(features, session).median for model in (bad, good)}
    early = duel.asked(said[bad], features, session, None)
    while duel.model is bad:
        duel.finished(duel.asked(said[duel.model], features, session, None), said[good] + 0.1)
    duel.finished(early, said[good])
    late = duel.asked(said[good], features, session, None)
    assert (early.model, late.model) == (bad, good)
    duel.finished(late, said[good])


def test_no_model_is_blamed_for_what_the_clients_cap_cut_off() -> None:
    model = small_model()
    duel = LengthDuel(model)
    asked = duel.asked(log1p(600), read_features(ask("please essay")), [-1.0, -1.0, 0.0], 10)
    assert asked.features is None, "nothing to ask another model with is kept without one"
    for _ in range(25):
        duel.finished(asked, log1p(10))
    assert duel.state().champion_loss == pytest.approx(0.0)


def test_what_is_kept_of_a_request_is_numbers() -> None:
    duel = LengthDuel(small_model(), off_model(0.5))
    asked = duel.asked(1.0, read_features(ask("a secret")), [-1.0, -1.0, 0.0], None)
    assert asked.features is not None
    assert "secret" not in repr(asked)


def test_one_sentence_says_how_it_stands() -> None:
    state = DuelState(
        standing=Standing.PROMOTED,
        requests=500,
        champion_loss=0.4,
        other_loss=0.5,
        looks=3,
        promotions=1,
        rollbacks=0,
        drift=Drift.WORSE,
        drifts=1,
    )
    assert sentence(state) == (
        "the challenger was promoted and answers; loss 0.400 over 500 requests, "
        "0.500 of the other; the loss drifts: worse"
    )
    fresh = LengthDuel(small_model()).state()
    assert sentence(fresh) == "no challenger; no loss yet over 0 requests"


def test_the_duel_costs_a_model_nothing_when_it_is_asked() -> None:
    class Counting(LengthModel):
        asked = 0

        def guess(self, features, session):  # type: ignore[no-untyped-def]
            Counting.asked += 1
            return super().guess(features, session)

    predictor = LengthPredictor(small_model(), challenger=Counting(small_model().record))
    question = ask("please list topic3", request_id="r")
    predictor.predict(question)
    assert Counting.asked == 0
    predictor.observe(finished(question, 200))
    assert Counting.asked == 1


def test_a_new_challenger_meets_whoever_answers_and_counts_go_on() -> None:
    bad, good, worse = off_model(1.0), small_model(), off_model(2.0)
    predictor = LengthPredictor(bad, challenger=good)
    run(predictor, 700)
    assert predictor.model is good
    in_flight = ask("please list topic3", request_id="before")
    predictor.predict(in_flight)
    predictor.duel.challenge(worse)
    predictor.observe(finished(in_flight, 200))
    run(predictor, 300, seed=1)
    assert (predictor.model, predictor.duel.other) == (good, worse)
    state = predictor.duel.state()
    assert (state.standing, state.promotions, state.requests) == (Standing.SHADOW, 1, 300)


def test_what_was_asked_when_nobody_challenged_is_no_evidence() -> None:
    duel = LengthDuel(small_model(), config=QUICK)
    features = read_features(ask("please list topic3"))
    early = duel.asked(5.0, features, [-1.0, -1.0, 0.0], None)
    duel.challenge(off_model(1.0))
    for _ in range(20):
        duel.finished(early, 5.0)
    assert duel.state().requests == 0
