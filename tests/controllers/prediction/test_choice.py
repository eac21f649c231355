"""The better predictor is chosen, and stays chosen."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from math import exp, log

import pytest

from hmas.controllers.prediction.choice import ChoiceConfig, EngineChoice, log_error
from hmas.controllers.prediction.cost import Cost, priced
from hmas.controllers.prediction.cost_features import Load
from hmas.engine.events import Outcome, RequestFinished
from tests.controllers.prediction.cost_support import finished

LOAD = Load(prompt_tokens=100, output_tokens=20)
TTFT_MS, TPOT_MS = 100.0, 20.0


@dataclass
class Wrong:
    """Off by ``factor``, give or take ``noise``."""

    name: str
    factor: float | None
    noise: float = 0.0
    chance: random.Random = field(default_factory=lambda: random.Random(3))
    learned: int = 0
    asked: int = 0

    def cost(self, load: Load) -> Cost | None:
        self.asked += 1
        if self.factor is None:
            return None
        off = self.factor * exp(self.noise * self.chance.gauss(0, 1))
        return priced(TTFT_MS * off, TPOT_MS * off, 25.0)

    def learn(self, load: Load, finished: RequestFinished) -> None:
        assert load == LOAD
        self.learned += 1


def serve(choice: EngineChoice, requests: int, outcome: Outcome = Outcome.COMPLETED) -> None:
    for number in range(requests):
        choice.predict(f"r{number}", LOAD)
        choice.observe(finished(f"r{number}", TTFT_MS, TPOT_MS, outcome))


def test_the_first_is_believed_until_it_is_measured() -> None:
    choice = EngineChoice("e", [Wrong("trained", 3.0), Wrong("analytic", 1.1)])
    serve(choice, 29)
    assert choice.choice().chosen == "trained"
    serve(choice, 1)
    assert choice.choice().chosen == "analytic"


def test_the_answer_is_that_of_the_chosen() -> None:
    choice = EngineChoice("e", [Wrong("trained", 3.0), Wrong("analytic", 1.0)])
    serve(choice, 50)
    cost, source = choice.predict("next", LOAD)
    assert cost is not None
    assert (cost.ttft_ms, source) == (TTFT_MS, "analytic")


def test_only_the_chosen_is_asked_before_the_request_goes_on() -> None:
    trained, analytic = Wrong("trained", 3.0), Wrong("analytic", 1.0)
    choice = EngineChoice("e", [trained, analytic])
    choice.predict("r", LOAD)
    assert (trained.asked, analytic.asked) == (1, 0)
    choice.observe(finished("r", TTFT_MS, TPOT_MS))
    assert (trained.asked, analytic.asked) == (1, 1)
    assert (trained.learned, analytic.learned) == (1, 1)


def test_who_spoke_is_counted() -> None:
    choice = EngineChoice("e", [Wrong("trained", 3.0), Wrong("analytic", 1.0)])
    serve(choice, 50)
    assert choice.answers == {"trained": 30, "analytic": 20}


def test_both_errors_are_shown() -> None:
    choice = EngineChoice("e", [Wrong("trained", 2.0), Wrong("analytic", 1.0)])
    serve(choice, 50)
    shown = choice.choice()
    assert {one.name: one.error for one in shown.candidates} == pytest.approx(
        {"trained": log(2), "analytic": 0.0}
    )
    assert shown.sentence == "analytic: error 0.00 (trained 0.69)"
    assert shown.switches == 1


def test_equally_good_ones_do_not_take_turns() -> None:
    candidates = [
        Wrong("a", 1.0, 0.4, random.Random(1)),
        Wrong("b", 1.0, 0.4, random.Random(2)),
    ]
    choice = EngineChoice("e", candidates)
    serve(choice, 5000)
    assert choice.choice().switches <= 2


def test_it_changes_its_mind_when_the_engine_changes() -> None:
    trained, analytic = Wrong("trained", 1.1), Wrong("analytic", 2.0)
    choice = EngineChoice("e", [trained, analytic])
    serve(choice, 200)
    assert choice.choice().chosen == "trained"
    trained.factor, analytic.factor = 3.0, 1.1
    serve(choice, 200)
    assert choice.choice().chosen == "analytic"


def test_two_switches_are_some_requests_apart() -> None:
    first, second = Wrong("a", 3.0), Wrong("b", 1.0)
    choice = EngineChoice("e", [first, second], ChoiceConfig(memory=1.0, dwell=50))
    serve(choice, 30)
    first.factor, second.factor = 1.0, 3.0
    serve(choice, 49)
    assert choice.choice().chosen == "b"
    serve(choice, 1)
    assert choice.choice().chosen == "a"


def test_another_speaks_where_the_chosen_cannot() -> None:
    choice = EngineChoice("e", [Wrong("trained", None), Wrong("analytic", 1.0)])
    assert choice.predict("r", LOAD)[1] == "analytic"
    serve(choice, 40)
    assert choice.choice().chosen == "analytic"
    assert choice.choice().sentence == "analytic: error 0.00 (trained unmeasured)"


def test_nobody_can_tell() -> None:
    choice = EngineChoice("e", [Wrong("trained", None)])
    assert choice.predict("r", LOAD) == (None, "")


def test_requests_that_were_cut_off_or_unknown_teach_nothing() -> None:
    choice = EngineChoice("e", [Wrong("trained", 3.0), Wrong("analytic", 1.0)])
    serve(choice, 100, Outcome.ABORTED)
    choice.observe(finished("never seen", 1, 1))
    assert [one.samples for one in choice.choice().candidates] == [0, 0]


def test_a_forgotten_request_teaches_nothing() -> None:
    choice = EngineChoice("e", [Wrong("trained", 3.0)])
    choice.predict("r", LOAD)
    choice.forget("r")
    choice.observe(finished("r", TTFT_MS, TPOT_MS))
    assert choice.choice().candidates[0].samples == 0


def test_one_token_has_no_tpot_to_be_wrong_about() -> None:
    assert log_error(priced(200, 999, 25), finished("r", 100, 0)) == pytest.approx(log(2))
    assert log_error(priced(200, 999, 25), finished("r", 0, 0)) is None


def test_a_choice_needs_a_candidate() -> None:
    with pytest.raises(ValueError, match="engine e"):
        EngineChoice("e", [])
