"""The control page: what holds, what was decided, removing overrides."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from hmas.console.session import KEY, Session
from hmas.daemon.wire import BypassRequest, ControlsRequest, PinRequest, Role, WhoAmI


def control() -> None:
    from hmas.console import control_page
    from hmas.console.settings import ConsoleSettings

    control_page.render(ConsoleSettings())


@pytest.fixture
def page(session: Session) -> AppTest:
    app = AppTest.from_function(control, default_timeout=20)
    app.session_state[KEY] = session
    return app


def shown(page: AppTest) -> str:
    assert not page.exception, page.exception[0].value
    return " ".join(element.proto.body for element in page.get("html"))


def test_an_untouched_fleet(page: AppTest) -> None:
    text = shown(page.run())
    assert "Nothing is overridden" in text
    assert 'data-engine="engine0"' in text
    assert "what each is good against" in text


def test_overrides_are_listed_strongest_first_and_can_be_removed(
    page: AppTest, session: Session
) -> None:
    session.client.apply(PinRequest(topology="edf", reason="misses", duration_s=3600))
    session.client.apply(ControlsRequest(n_run=32, reason="thrashing"))
    bypass = session.client.apply(BypassRequest(reason="incident")).override
    text = shown(page.run())
    titles = ("Bypass on all engines", "Fix N_run 32 on all engines", "Pin edf on all engines")
    positions = [text.index(title) for title in titles]
    assert positions == sorted(positions)
    assert "1 h left" in text or "59 min left" in text
    page.button(key=f"cancel-{bypass.id}").click().run()
    assert titles[0] not in shown(page)
    assert len(session.client.status().overrides) == 2


def test_removing_what_is_already_gone_is_told(page: AppTest, session: Session) -> None:
    pin = session.client.apply(PinRequest(topology="edf", reason="misses")).override
    page.run()
    session.client.cancel(pin.kind, pin.id)
    page.button(key=f"cancel-{pin.id}").click().run()
    assert "it may have ended" in page.toast[0].value


def test_a_decision_opens_on_its_evidence_and_closes_again(page: AppTest, session: Session) -> None:
    newest = session.client.decisions(1)[0]
    page.run()
    assert "Proposals" not in shown(page)
    page.button(key=f"decision-{newest.id}").click().run()
    assert "Proposals" in shown(page)
    assert "bandit" in shown(page)
    page.button(key=f"decision-{newest.id}").click().run()
    assert "Proposals" not in shown(page)


def test_a_viewer_cannot_press_anything_that_acts(page: AppTest, session: Session) -> None:
    session.client.apply(PinRequest(topology="edf", reason="misses"))
    session.who = WhoAmI(name="vic", role=Role.VIEWER)
    text = shown(page.run())
    assert "You may look" in text
    acting = [b for b in page.button if b.key in {"pin", "fix", "bypass"} or b.label == "Remove"]
    assert len(acting) == 4
    assert all(button.disabled for button in acting)
