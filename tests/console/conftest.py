"""A real admin API over the in-memory fleet, as the console meets it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from pydantic import SecretStr
from streamlit.testing.v1 import AppTest

from hmas.console.client import AdminClient
from hmas.console.session import Session
from hmas.daemon.admin.app import create_app
from hmas.daemon.admin.memory_port import MemoryPort
from hmas.daemon.admin.server import AdminServer
from hmas.daemon.admin.settings import AdminSettings, AdminToken
from hmas.daemon.wire import Role
from hmas.engine.clock import FakeClock

OPERATOR = "operator-token-0123456789"
VIEWER = "viewer-token-0123456789"
START_S = 1_790_000_000.0
APP = Path(__file__).parents[2] / "console" / "app.py"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(START_S)


@pytest.fixture
def port(clock: FakeClock) -> MemoryPort:
    return MemoryPort(clock, ("engine0", "engine1"), history_s=300)


@pytest.fixture
def admin(port: MemoryPort) -> Iterator[tuple[FastAPI, str]]:
    """The application, served, and its address."""
    tokens = (
        AdminToken(name="ada", token=SecretStr(OPERATOR)),
        AdminToken(name="vic", role=Role.VIEWER, token=SecretStr(VIEWER)),
    )
    settings = AdminSettings(port=0, tokens=tokens)
    app = create_app(port, settings)
    server = AdminServer(app, settings)
    url = server.start()
    thread = threading.Thread(target=server.run_in_thread, daemon=True)
    thread.start()
    yield app, url
    server.stop()
    thread.join(10)


@pytest.fixture
def admin_url(admin: tuple[FastAPI, str]) -> str:
    return admin[1]


@pytest.fixture
def client(admin_url: str) -> Iterator[AdminClient]:
    opened = AdminClient(admin_url, OPERATOR)
    yield opened
    opened.close()


@pytest.fixture
def session(client: AdminClient) -> Session:
    return Session(client, client.whoami())


@pytest.fixture
def page(admin_url: str, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    """The console in one process, before the login."""
    monkeypatch.setenv("HMAS_CONSOLE_ADMIN_URL", admin_url)
    return AppTest.from_file(str(APP), default_timeout=20)


def logged_in(page: AppTest, token: str = OPERATOR) -> AppTest:
    page.run()
    page.text_input(key="token").set_value(token)
    page.button[0].click().run()
    assert not page.exception, page.exception[0].value
    return page
