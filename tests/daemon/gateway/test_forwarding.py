from __future__ import annotations

from multidict import CIMultiDict

from hmas.daemon.gateway.forwarding import to_client, to_engine


def test_what_engines_see() -> None:
    given = CIMultiDict(
        {
            "Host": "gateway",
            "Authorization": "Bearer client-key",
            "X-Api-Key": "client-key",
            "X-Vllm-Priority": "1",
            "X-Gateway-Inference-Fairness-Id": "victim",
            "X-Hmas-Task-Type": "QA",
            "Connection": "keep-alive",
            "Content-Length": "12",
            "Content-Type": "application/json",
            "Traceparent": "00-ab-cd-01",
            "X-Session-Id": "s",
            "Accept-Encoding": "gzip",
        }
    )
    assert dict(to_engine(given, "id-1", None)) == {
        "Content-Type": "application/json",
        "Traceparent": "00-ab-cd-01",
        "X-Session-Id": "s",
        "Accept-Encoding": "gzip",
        "X-Request-Id": "id-1",
    }
    assert to_engine(given, "id-1", "Bearer engine-key")["Authorization"] == "Bearer engine-key"


def test_what_clients_see() -> None:
    given = CIMultiDict(
        {
            "Server": "uvicorn",
            "Date": "now",
            "Transfer-Encoding": "chunked",
            "Content-Length": "9",
            "Content-Type": "text/event-stream",
            "Content-Encoding": "gzip",
            "X-Request-Id": "engine's",
            "X-Hmas-Topology": "forged",
        }
    )
    given.add("Set-Cookie", "a=1")
    given.add("Set-Cookie", "b=2")
    forwarded = to_client(given)
    assert forwarded.getall("Set-Cookie") == ["a=1", "b=2"]
    assert set(forwarded) == {"Content-Type", "Content-Encoding", "Set-Cookie"}
