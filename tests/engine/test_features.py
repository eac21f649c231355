from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.engine.features import (
    LENGTH_BUCKET_EDGES,
    MAX_ENCODED_BYTES,
    InvalidFeaturesError,
    RequestFeatures,
    TaskType,
    decode_features,
    encode_features,
    length_bucket,
)

request_features = st.builds(
    RequestFeatures,
    request_id=st.text(max_size=64),
    arrival_s=st.floats(0, 4e9),
    tenant=st.text(max_size=64),
    tenant_weight=st.floats(0.01, 100),
    task_type=st.sampled_from(TaskType),
    importance=st.floats(0, 1),
    priority=st.integers(-1000, 1000),
    slo_ttft_ms=st.floats(1, 1e6),
    slo_tpot_ms=st.floats(1, 1e5),
    prompt_tokens=st.integers(0, 10**6),
    predicted_output_tokens=st.integers(0, 10**6),
    job_id=st.none() | st.text(max_size=64),
    stage=st.none() | st.integers(0, 100),
    known=st.booleans(),
)


@given(request_features)
def test_what_is_encoded_comes_back_the_same(features: RequestFeatures) -> None:
    assert decode_features(encode_features(features)) == features


@given(st.text() | st.binary())
def test_rubbish_is_refused_and_never_crashes(rubbish: str | bytes) -> None:
    try:
        decode_features(rubbish)
    except InvalidFeaturesError:
        return
    pytest.fail("rubbish was read as features")


@pytest.mark.parametrize(
    ("encoded", "names"),
    [
        ('{"request_id":"a"}', "arrival_s"),
        ('{"request_id":"a","arrival_s":1,"slo_ttft_ms":-5}', "slo_ttft_ms"),
        ('{"request_id":"a","arrival_s":1,"task_type":"Nonsense"}', "task_type"),
        ('{"request_id":"a","arrival_s":1,"prompt_tokens":"many"}', "prompt_tokens"),
    ],
)
def test_the_error_names_the_field(encoded: str, names: str) -> None:
    with pytest.raises(InvalidFeaturesError, match=names):
        decode_features(encoded)


def test_features_that_are_too_long_are_refused_both_ways() -> None:
    features = RequestFeatures(request_id="x" * MAX_ENCODED_BYTES, arrival_s=0)
    with pytest.raises(InvalidFeaturesError, match="at most 4096"):
        encode_features(features)
    with pytest.raises(InvalidFeaturesError, match="at most 4096"):
        decode_features(" " * (MAX_ENCODED_BYTES + 1))


def test_derived_times_follow_the_paper() -> None:
    features = RequestFeatures(
        request_id="r",
        arrival_s=100.0,
        slo_ttft_ms=4000,
        slo_tpot_ms=70,
        predicted_output_tokens=100,
        predicted_ttft_ms=500,
        predicted_tpot_ms=20,
    )
    assert features.service_time_s == pytest.approx(0.5 + 2.0)
    assert features.deadline_s == pytest.approx(100 + 4 + 7)
    assert features.slack_s(1.0) == pytest.approx(111 - 1 - 2.5)
    assert features.first_token_deadline_s == pytest.approx(104)


def test_buckets_are_ordered_and_closed_above() -> None:
    assert length_bucket(0) == 0
    for position, edge in enumerate(LENGTH_BUCKET_EDGES):
        assert length_bucket(edge) == position
        assert length_bucket(edge + 1) == position + 1
