"""The processes that the gateway's benchmark measures: the baseline changes nothing."""

from __future__ import annotations

import http.client
import json

import pytest

from hmas.bench.gateway import part
from hmas.bench.gateway_parts import main

BODY = json.dumps({"model": "echo", "prompt": "x", "stream": True}).encode()


def answer(port: int) -> tuple[int, str | None, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("POST", "/v1/completions", BODY, {"Content-Type": "application/json"})
    response = connection.getresponse()
    found = response.status, response.getheader("Content-Type"), response.read()
    connection.close()
    return found


def choices(body: bytes) -> list[object]:
    lines = [line.removeprefix(b"data: ") for line in body.splitlines() if line != b"data: [DONE]"]
    events = [json.loads(line) for line in lines if line]
    return [choice for event in events for choice in event["choices"]]


def test_pass_through_and_gateway_bring_what_the_engine_sent() -> None:
    with part("echo", None, chunks=3, interval_ms=1) as echo:
        direct = answer(echo.port)
        assert direct[0] == 200
        assert len(choices(direct[2])) >= 3
        for name in ("passthrough", "gateway"):
            with part(name, None, engine_port=echo.port) as between:
                status, kind, body = answer(between.port)
            assert (status, kind) == direct[:2], name
            assert choices(body) == choices(direct[2]), name


@pytest.mark.parametrize("arguments", [["gateway"], ["nothing", "--port", "1"]])
def test_wrong_usage_is_named(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        main(arguments)
    assert raised.value.code == 2
    assert "usage:" in capsys.readouterr().err
