from __future__ import annotations

from typing import Any

import pytest

from hmas.controllers.sentences import change_words, control_words, state_words
from hmas.engine.directive import Controls, Directive, StepModel
from tests.controllers.support import ENGINE, short


def directive(**changes: Any) -> Directive:
    fields = {"engine_id": ENGINE, "version": 1, "issued_at_s": 0.0, "ttl_s": 5.0} | changes
    return Directive(**({"topology": "edf"} | fields))


@pytest.mark.parametrize(
    ("signals", "words"),
    [
        ({"running": None}, "no signal from the engine yet"),
        ({"running": None, "signal_age_s": 12.3}, "engine silent for 12 s"),
        ({"doubt": "queue length"}, "engine in stock order: queue length"),
        ({"lease_expired": True}, "lease expired, renewing"),
        ({}, "no traffic"),
        ({"arrivals_per_s": 3.0}, "no request has finished yet"),
        ({"violation_rate": 0.5, "samples": 3}, "only 3 of 20 requests measured"),
        ({"violation_rate": 0.04, "samples": 99}, "violation rate 0.04 within band"),
        ({"violation_rate": 0.31, "samples": 99}, "violation rate 0.31 of 99"),
    ],
)
def test_state_in_words(signals: dict[str, Any], words: str) -> None:
    assert state_words(short(**signals), band=0.05, least=20, stale_s=5.0) == words


def test_changes_in_words() -> None:
    before = directive(hints={"first_token": 1.0}, controls=Controls(token_budget=8192, n_run=256))
    assert change_words(None, before, "no traffic") == "start edf: no traffic"
    assert change_words(before, directive(topology="sjf"), "why") == "switch edf -> sjf: why"
    hints = directive(hints={"first_token": 0.0, "aging_every": 9.0})
    words = "tune edf: aging_every default -> 9, first_token 1 -> 0"
    assert change_words(before, hints, "why") == words
    after = directive(
        hints={"first_token": 1.0},
        controls=Controls(token_budget=4096, n_run=200, fence={0: 5, 1: 7}),
    )
    words = "tune edf: token budget 8192 -> 4096, n_run 256 -> 200, fence off -> +7"
    assert change_words(before, after, "why") == words
    assert change_words(directive(bypass=True), before, "why") == "resume edf: bypass ended"


def test_step_models_and_repeats_in_words() -> None:
    model = StepModel(base_ms=1, prefill_ms=1, context_ms=0, sequence_ms=0)
    assert control_words(Controls(), Controls(step_model=model)) == "step model refitted"
    assert control_words(Controls(step_model=model), Controls()) == "step model withdrawn"
    assert control_words(Controls(), Controls()) == "issued again"
