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
