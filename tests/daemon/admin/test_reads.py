"""What the API shows, and to whom."""

from __future__ import annotations

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from hmas.daemon.wire import ErrorOut, ViewSeries
from hmas.engine.clock import FakeClock

READS = (
    "status",
    "engines",
    "engines/demo-0",
    "engines/demo-0/views",
    "engines/demo-0/views?horizon=long",
    "decisions",
    "directives",
    "guards",
    "overrides",
    "topologies",
    "health",
    "audit",
    "whoami",
)


@pytest.mark.parametrize("path", READS)
def test_everything_can_be_read(api: TestClient, path: str) -> None:
    response = api.get(f"/hmas/v1/{path}")
    assert response.status_code == 200, response.text
    assert response.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", READS)
def test_nothing_can_be_read_without_a_token(app: FastAPI, path: str) -> None:
    response = TestClient(app).get(f"/hmas/v1/{path}")
    assert response.status_code == 401
    error = ErrorOut.model_validate_json(response.content).error
    assert error.code == "unauthenticated"
    assert "Authorization: Bearer" in error.message
    assert response.headers["www-authenticate"].startswith("Bearer")


def test_views_can_be_read_on_from_the_last_one(api: TestClient, clock: FakeClock) -> None:
    path = "/hmas/v1/engines/demo-0/views"
    first = ViewSeries.model_validate_json(api.get(path, params={"limit": 10}).content)
    assert len(first.short) == 10
    clock.advance(3)
    since = first.short[-1].at_s
    later = ViewSeries.model_validate_json(api.get(path, params={"since": since}).content)
    assert [point.at_s for point in later.short] == [since + 1, since + 2, since + 3]


@pytest.mark.parametrize(
    "path", ["engines/nobody", "engines/*", "engines/nobody/views", "requests/r-1", "nowhere"]
)
def test_what_is_not_there(api: TestClient, path: str) -> None:
    response = api.get(f"/hmas/v1/{path}")
    assert response.status_code == 404
    assert ErrorOut.model_validate_json(response.content).error.code == "not-found"
