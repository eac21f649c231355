from __future__ import annotations

import pytest

from hmas.daemon.gateway.call import Call
from hmas.daemon.gateway.usage import Usage


def streamed(events: int, seconds: float, tail: bytes = b"") -> Call:
    call = Call("r", "POST", "/v1/chat/completions", 0.0)
    call.answered()
    call.streamed = True
    call.last_at = call.first_at + seconds
    call.streamed_out(events, tail)
    return call


def test_tokens_are_estimated_from_events_without_usage() -> None:
    assert streamed(22, 1.0).events() == 20
    assert streamed(1, 1.0).events() == 0
    assert streamed(22, 1.0).usage() is None


def test_usage_comes_from_the_tail() -> None:
    tail = b'data: {"usage":{"prompt_tokens":5,"completion_tokens":8}}\n\ndata: [DONE]\n\n'
    assert streamed(3, 1.0, tail).usage() == Usage(5, 8)


def test_time_per_token_needs_a_stream_of_two_tokens() -> None:
    call = streamed(22, 1.9)
    assert call.tpot_s(20) == pytest.approx(0.1)
    assert call.tpot_s(1) == 0
    call.streamed = False
    assert call.tpot_s(20) == 0


def test_nothing_measured_is_zero() -> None:
    call = Call("r", "POST", "/v1/chat/completions", 0.0)
    assert (call.ttft_s, call.queue_s) == (0, 0)
