"""An admin API over the in-memory fleet, with an operator and a viewer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from pydantic import SecretStr

from hmas.daemon.admin.app import create_app
from hmas.daemon.admin.memory_port import MemoryPort
from hmas.daemon.admin.settings import AdminSettings, AdminToken
from hmas.daemon.wire import Role
from hmas.engine.clock import FakeClock

OPERATOR = "operator-token-0123456789"
VIEWER = "viewer-token-0123456789"
START_S = 1_790_000_000.0


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(START_S)


@pytest.fixture
def port(clock: FakeClock) -> MemoryPort:
    return MemoryPort(clock, history_s=300)


@pytest.fixture
def settings() -> AdminSettings:
    return AdminSettings(
        tokens=(
            AdminToken(name="ada", token=SecretStr(OPERATOR)),
            AdminToken(name="vic", role=Role.VIEWER, token=SecretStr(VIEWER)),
        )
    )


@pytest.fixture
def app(port: MemoryPort, settings: AdminSettings) -> FastAPI:
    return create_app(port, settings)


@pytest.fixture
def api(app: FastAPI) -> Iterator[TestClient]:
    """Speaks as the operator."""
    headers = {"Authorization": f"Bearer {OPERATOR}"}
    with TestClient(app, headers=headers, raise_server_exceptions=False) as client:
        yield client
