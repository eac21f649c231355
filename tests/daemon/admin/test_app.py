"""The admin API as its callers see it."""

from __future__ import annotations

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from hmas.daemon.admin.app import create_app
from hmas.daemon.admin.memory_port import MemoryPort
from hmas.daemon.admin.port import ControlPort, UnavailableError
from hmas.daemon.admin.settings import AdminSettings
from hmas.daemon.wire import ErrorOut
from hmas.engine.clock import FakeClock

PIN = {"topology": "edf", "reason": "deadline misses", "duration_s": 600}
VIEWER = {"Authorization": "Bearer viewer-token-0123456789"}


def test_an_unknown_token_is_told_apart_from_none(app: FastAPI) -> None:
    response = TestClient(app).get("/hmas/v1/status", headers={"Authorization": "Bearer wrong"})
    assert response.status_code == 401
    assert "not known" in response.json()["error"]["message"]


def test_bodies_that_are_not_json_or_too_large(api: TestClient) -> None:
    headers = {"Content-Type": "application/json"}
    broken = api.post("/hmas/v1/pins", content="{{", headers=headers)
    assert broken.status_code == 422
    assert broken.json()["error"]["problems"][0]["field"] == "body"
    large = api.post("/hmas/v1/pins", content="x" * 70_000, headers=headers)
    assert large.status_code == 413


def test_probes_need_no_token(app: FastAPI) -> None:
    client = TestClient(app)
    assert client.get("/livez").text == "ok\n"
    assert client.get("/readyz").status_code == 200
    assert "hmas_engines 2" in client.get("/metrics").text


def test_metrics_can_be_closed(port: MemoryPort, settings: AdminSettings) -> None:
    closed = create_app(port, settings.model_copy(update={"public_metrics": False}))
    assert TestClient(closed).get("/metrics").status_code == 401
    assert TestClient(closed, headers=VIEWER).get("/metrics").status_code == 200


def test_without_tokens_only_loopback_is_served(port: MemoryPort) -> None:
    open_app = create_app(port, AdminSettings())
    near = TestClient(open_app, base_url="http://127.0.0.1:8002")
    assert near.get("/hmas/v1/whoami").json() == {"name": "anonymous", "role": "operator"}
    rebound = TestClient(open_app, base_url="http://evil.example:8002")
    assert rebound.get("/hmas/v1/whoami").status_code == 403


class BrokenPort(MemoryPort):
    """A daemon whose storage is gone, and which has a bug."""

    async def decisions(self, query: object) -> list[object]:  # type: ignore[override]
        raise UnavailableError("storage does not answer")

    async def guard_events(self, query: object) -> list[object]:  # type: ignore[override]
        raise ZeroDivisionError


@pytest.fixture
def broken(clock: FakeClock) -> TestClient:
    port: ControlPort = BrokenPort(clock, history_s=10)
    app = create_app(port, AdminSettings())
    return TestClient(app, base_url="http://localhost", raise_server_exceptions=False)


def test_an_outage_is_a_503_with_retry_after(broken: TestClient) -> None:
    response = broken.get("/hmas/v1/decisions")
    assert response.status_code == 503
    assert response.headers["retry-after"] == "5"
    assert response.json()["error"]["message"] == "storage does not answer"


def test_a_bug_is_a_500_in_the_same_form_that_tells_nothing(
    broken: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    response = broken.get("/hmas/v1/guards")
    assert response.status_code == 500
    assert "Zero" not in response.text
    assert ErrorOut.model_validate_json(response.content).error.code == "internal"
    assert "GET /hmas/v1/guards failed" in caplog.text


def test_every_operation_is_described(app: FastAPI) -> None:
    for path, item in app.openapi()["paths"].items():
        for method, operation in item.items():
            assert operation.get("summary"), f"{method} {path} has no summary"
            if method == "post":
                body = operation["requestBody"]["content"]["application/json"]
                assert body["examples"], f"{path} has no example"
