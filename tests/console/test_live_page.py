"""The live page: engines, outages, empty fleets."""

from __future__ import annotations

import pytest
from fastapi import FastAPI
from pydantic import SecretStr
from streamlit.testing.v1 import AppTest

from hmas.console.session import FAREWELL, KEY, Session
from hmas.daemon.admin.auth import TokenBook
from hmas.daemon.admin.memory_port import MemoryPort
from hmas.daemon.admin.settings import AdminToken
from hmas.daemon.wire import BypassRequest
from hmas.engine.clock import FakeClock


def live() -> None:
    from hmas.console import live_page
    from hmas.console.settings import ConsoleSettings

    live_page.render(ConsoleSettings())


@pytest.fixture
def page(session: Session) -> AppTest:
    app = AppTest.from_function(live, default_timeout=20)
    app.session_state[KEY] = session
    return app


def shown(page: AppTest) -> str:
    assert not page.exception, page.exception[0].value
    return " ".join(element.proto.body for element in page.get("html"))


def test_every_engine_has_its_card(page: AppTest) -> None:
    text = shown(page.run())
    assert 'data-engine="engine0"' in text
    assert 'data-engine="engine1"' in text
    assert text.count("chosen") == 1


def test_another_engine_can_be_chosen(page: AppTest) -> None:
    page.run()
    page.segmented_control(key="engine").set_value("engine1").run()
    card = shown(page).split('data-engine="engine1"')[0]
    assert "chosen" in card[card.rindex("<section") :]


def test_a_bypass_is_a_banner(page: AppTest, session: Session, clock: FakeClock) -> None:
    session.client.apply(BypassRequest(reason="incident 4711", engine_id="engine0"))
    clock.advance(2)
    text = shown(page.run())
    assert "engine0 runs in BYPASS" in text
    assert "incident 4711" in text


def test_a_silent_engine_keeps_its_charts_and_loses_its_numbers(
    page: AppTest, port: MemoryPort, clock: FakeClock
) -> None:
    port.set_reachable("engine0", reachable=False)
    clock.advance(30)
    text = shown(page.run())
    assert "engine0 does not answer (last seen 30 s ago)" in text
    assert "no signal" in text
    assert len(page.get("plotly_chart")) == 6


def test_an_empty_fleet_says_what_to_do(page: AppTest, port: MemoryPort) -> None:
    port._engines.clear()
    assert "No engines yet" in shown(page.run())


def test_an_outage_shows_the_last_picture(page: AppTest, session: Session) -> None:
    page.run()
    session.client._http._base_url = session.client._http.base_url.copy_with(port=1)
    text = shown(page.run())
    assert "This picture is old" in text
    assert "cannot be reached" in text
    assert 'data-engine="engine0"' in text


def test_a_token_that_is_taken_away_ends_the_session(
    page: AppTest, admin: tuple[FastAPI, str]
) -> None:
    page.run()
    admin[0].state.tokens = TokenBook([AdminToken(name="new", token=SecretStr("x" * 20))])
    page.run()
    assert not page.exception
    assert KEY not in page.session_state
    assert "does not know this token" in page.session_state[FAREWELL]
