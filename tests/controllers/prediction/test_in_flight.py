"""What one more request would find."""

from __future__ import annotations

from hmas.controllers.prediction.cost_features import Load
from hmas.controllers.prediction.in_flight import InFlight


def test_requests_pass_through_prefill_and_decode() -> None:
    held = InFlight()
    held.sent("a", 100)
    held.sent("b", 30)
    held.first_token("a")
    assert held.load(7, 9) == Load(
        prompt_tokens=7,
        output_tokens=9,
        in_flight=2,
        prefilling=1,
        in_flight_tokens=130,
        prefilling_tokens=30,
    )


def test_whatever_comes_twice_or_unknown_leaves_nothing_behind() -> None:
    held = InFlight()
    held.sent("a", 100)
    held.sent("a", 50)
    held.first_token("a")
    held.first_token("a")
    held.first_token("never")
    held.finished("a")
    held.finished("a")
    held.finished("never")
    assert held.load(1, 1) == Load(prompt_tokens=1, output_tokens=1)


def test_others_are_like_ours_or_like_this_one() -> None:
    held = InFlight()
    assert held.load(50, 9, others=3).in_flight_tokens == 150
    held.sent("a", 100)
    held.sent("b", 30)
    held.first_token("a")
    assert "a" in held
    assert held.load(7, 9, others=2) == Load(
        prompt_tokens=7,
        output_tokens=9,
        in_flight=4,
        prefilling=2,
        in_flight_tokens=260,
        prefilling_tokens=60,
    )
