from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.controllers.service_gain import service_gain, token_value
from hmas.engine.events import Outcome
from tests.controllers.support import features, finished


def test_in_time_earns_the_whole_token_value() -> None:
    assert service_gain(finished(features())) == token_value(100, 50) == 200


def test_twice_too_slow_earns_half() -> None:
    request = features(slo_ttft_ms=1000, slo_tpot_ms=20)
    slow = finished(request, ttft_s=2.0, tpot_s=0.04)
    assert service_gain(slow) == pytest.approx(100)


def test_what_did_not_complete_earns_nothing() -> None:
    assert service_gain(finished(features(), outcome=Outcome.ABORTED)) == 0
    assert service_gain(finished(features(), outcome=Outcome.FAILED)) == 0


@given(st.floats(0, 100), st.floats(0, 1), st.integers(1, 500))
def test_gain_lies_between_nothing_and_the_value(ttft_s: float, tpot_s: float, tokens: int) -> None:
    event = finished(features(), ttft_s=ttft_s, tpot_s=tpot_s, output_tokens=tokens)
    assert 0 < service_gain(event) <= token_value(100, tokens)
