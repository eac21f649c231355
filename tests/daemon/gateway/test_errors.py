from __future__ import annotations

import json

from hmas.daemon.gateway.errors import (
    engine_failed,
    invalid_field,
    method_not_allowed,
    model_not_found,
    saturated,
    unauthorized,
)
from hmas.engine.events import ShedReason


def test_the_openai_error_form() -> None:
    error = invalid_field("field `n`: too small", "n")
    assert error.status == 400
    assert json.loads(error.body()) == {
        "error": {
            "message": "field `n`: too small",
            "type": "invalid_request_error",
            "code": "invalid_value",
            "param": "n",
        }
    }


def test_an_error_inside_a_stream_is_one_event() -> None:
    event = engine_failed("gone").sse_event()
    assert event.startswith(b'data: {"error":')
    assert event.endswith(b"\n\n")
    assert event.count(b"\n") == 2


def test_shedding_says_when_to_come_back_and_why() -> None:
    error = saturated("full", 7, ShedReason.SATURATED)
    assert error.status == 429
    assert error.headers == {"Retry-After": "7", "x-hmas-dropped-reason": "saturated"}


def test_a_long_model_name_is_cut() -> None:
    assert len(model_not_found("m" * 5000, ["a"]).message) < 400


def test_headers_that_http_wants() -> None:
    assert "WWW-Authenticate" in unauthorized("no key", "missing_api_key").headers
    assert method_not_allowed("GET", "/x", "POST").headers == {"Allow": "POST"}
