from __future__ import annotations

import pytest

from hmas.daemon.gateway.errors import ApiError
from hmas.daemon.gateway.explained import PromptTagger
from hmas.daemon.gateway.settings import GatewaySettings
from hmas.engine.clock import FakeClock


def tagger(length_model: str = "off", **anonymous: object) -> PromptTagger:
    settings = GatewaySettings.model_validate(
        {"anonymous": anonymous, "length_model": length_model}
    )
    return PromptTagger(settings, FakeClock(5.0))


def test_the_anonymous_tier_holds_as_in_the_gateway() -> None:
    tag = tagger(task_type="Dialogue", slo_ttft_ms=900, slo_tpot_ms=30).tag(1, b'{"prompt":"x"}')
    assert (tag.task_type, tag.source["task"], tag.source["slo"]) == (
        "Dialogue",
        "tenant",
        "tenant",
    )
    assert (tag.slo_ttft_ms, tag.slo_tpot_ms) == (900, 30)


def test_the_cap_bounds_the_length() -> None:
    tag = tagger().tag(1, b'{"prompt":"zq","max_tokens":3}')
    assert (tag.predicted_output_tokens, tag.upper_bound) == (3, 3)


def test_before_any_truth_the_bound_is_the_models_own() -> None:
    tag = tagger("shipped").tag(1, b'{"prompt":"What is the capital of France?"}')
    assert tag.upper_bound is not None
    assert tag.upper_bound >= tag.predicted_output_tokens
    assert tag.source["bound"] == "quantile"


def test_messages_are_a_chat_and_a_prompt_is_not() -> None:
    chat = tagger().tag(1, b'{"messages":[{"role":"user","content":"Translate to German: a"}]}')
    assert chat.task_type == "Translation"
    with pytest.raises(ApiError, match="messages"):
        tagger().tag(1, b'{"messages":"text"}')


@pytest.mark.parametrize("line", [b"\xff\xfe", b"null", b"[" * 100_000, b'{"a":1', b"{}"])
def test_what_is_no_request_is_an_error_in_words(line: bytes) -> None:
    with pytest.raises(ApiError):
        tagger().tag(1, line)
