from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.engine.features import XARGS_KEY, encode_features
from hmas.engine.topologies import QueuedRequest
from hmas.engine.vllm_requests import (
    Tracked,
    features_of,
    held_tokens,
    most_output_tokens,
    stock_rank,
)
from tests.engine.fake_vllm import FakeRequest, Status
from tests.engine.support import features


def request(**fields: Any) -> FakeRequest:
    return FakeRequest("engine-id-0", arrival_time=7.0, **fields)


def test_features_travel_in_the_extra_arguments() -> None:
    sent = features("ours", arrival_s=3.0, tenant="a", prompt_tokens=32, known=True)
    assert features_of(request(extra_args={XARGS_KEY: encode_features(sent)})) == sent


def test_the_engine_knows_the_prompt_length_best() -> None:
    sent = features("ours", prompt_tokens=5000)
    read = features_of(
        request(num_prompt_tokens=100, extra_args={XARGS_KEY: encode_features(sent)})
    )
    assert (read.prompt_tokens, read.length_bucket) == (100, 1)
    assert read.request_id == "ours"


@pytest.mark.parametrize("extra", [None, {}, {"other": 1}, {XARGS_KEY: 7}, {XARGS_KEY: "{}"}])
def test_without_features_a_request_is_unknown_and_served(extra: dict[str, Any] | None) -> None:
    read = features_of(request(extra_args=extra, priority=-5, max_tokens=40))
    assert not read.known
    assert (read.request_id, read.arrival_s, read.prompt_tokens) == ("engine-id-0", 7.0, 32)
    assert read.priority == 5, "vLLM serves lower numbers first, we the higher ones"
    assert read.predicted_output_tokens == 40


@given(st.text() | st.binary() | st.lists(st.integers()) | st.floats() | st.none())
def test_no_value_of_a_client_stops_a_request(value: object) -> None:
    assert not features_of(request(extra_args={XARGS_KEY: value})).known


def test_pooling_requests_have_no_sampling_parameters() -> None:
    class Pooling(FakeRequest):
        sampling_params = None

    assert not features_of(Pooling("p")).known


def test_what_a_request_holds_and_may_produce() -> None:
    entry = QueuedRequest(features(), Tracked(request(num_output_tokens=8), 1, 0.0))
    assert held_tokens(entry) == 40
    assert most_output_tokens(entry) == 100


def test_stock_order_is_preempted_first_then_by_arrival() -> None:
    fields: list[dict[str, Any]] = [
        {"arrival_time": 2.0},
        {"arrival_time": 1.0},
        {"arrival_time": 3.0, "status": Status.PREEMPTED},
        {"arrival_time": 1.0},
    ]
    entries = [
        QueuedRequest(features(str(number)), Tracked(FakeRequest(str(number), **each), number, 0.0))
        for number, each in enumerate(fields)
    ]
    ranked = [entry.features.request_id for entry in sorted(entries, key=stock_rank)]
    assert ranked == ["2", "1", "3", "0"]
