"""The forms: inputs become one request, and problems are said in words."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from hmas.console.control_forms import bounds
from hmas.console.session import KEY, Session


def forms() -> None:
    import streamlit as st

    from hmas.console import control_forms

    session = st.session_state["hmas_session"]
    session.refresh()
    control_forms.render(session)


@pytest.fixture
def page(session: Session) -> AppTest:
    app = AppTest.from_function(forms, default_timeout=20)
    app.session_state[KEY] = session
    return app.run()


def held(session: Session) -> list[dict[str, object]]:
    return [o.model_dump(exclude_none=True) for o in session.client.status().overrides]


def test_a_pin_with_reason_hint_and_end(page: AppTest, session: Session) -> None:
    pool = session.topologies()
    two_lane = next(topology for topology in pool if topology.name == "two_lane")
    page.selectbox(key="pin-topology").set_value(two_lane).run()
    page.selectbox(key="pin-engine").set_value("engine1").run()
    page.number_input(key="hint-two_lane-fast_share").set_value(0.5).run()
    page.text_input(key="pin-reason").set_value("long prompts block chat").run()
    page.segmented_control(key="pin-expiry").set_value("15 min").run()
    page.button(key="pin").click().run()
    assert not page.exception
    (pin,) = held(session)
    assert pin["topology"] == "two_lane"
    assert pin["engine_id"] == "engine1"
    assert pin["hints"] == {"fast_share": 0.5}
    assert pin["owner"] == "ada"
    assert pin["remaining_s"] == pytest.approx(900, abs=5)
    assert page.text_input(key="pin-reason").value == ""


def test_no_reason_no_pin(page: AppTest, session: Session) -> None:
    page.button(key="pin").click().run()
    assert "say in a few words why" in page.error[0].value
    assert held(session) == []


def test_controls_within_bounds(page: AppTest, session: Session) -> None:
    n_run = page.number_input(key="controls-N_run")
    assert (n_run.min, n_run.max) == (1, 256)
    n_run.set_value(48).run()
    page.text_input(key="controls-reason").set_value("thrashing").run()
    page.button(key="fix").click().run()
    (controls,) = held(session)
    assert controls["n_run"] == 48
    assert "token_budget" not in controls


def test_controls_without_a_control_say_what_to_give(page: AppTest, session: Session) -> None:
    page.text_input(key="controls-reason").set_value("thrashing").run()
    page.button(key="fix").click().run()
    assert "give n_run, token_budget or both" in page.error[0].value
    assert held(session) == []


def test_a_bypass_has_to_be_armed_first(page: AppTest, session: Session) -> None:
    assert page.button(key="bypass").disabled
    page.text_input(key="bypass-reason").set_value("incident 4711").run()
    page.checkbox(key="bypass-armed").check().run()
    page.button(key="bypass").click().run()
    (bypass,) = held(session)
    assert bypass["kind"] == "bypass"
    assert page.button(key="bypass").disabled, "armed again by itself"


def test_what_the_api_refuses_is_said_beside_the_form(page: AppTest, session: Session) -> None:
    pool = session.topologies()
    pool[0] = pool[0].model_copy(update={"name": "gone"})
    page.run()
    page.selectbox(key="pin-topology").set_value(pool[0]).run()
    page.text_input(key="pin-reason").set_value("because").run()
    page.button(key="pin").click().run()
    assert "there is no topology 'gone': use one of" in page.error[0].value


def test_the_smallest_engine_bounds_them_all(session: Session) -> None:
    fleet = session.refresh()
    assert fleet is not None
    first, second = fleet.engines
    assert first.limits is not None
    small = first.limits.model_copy(update={"max_num_seqs": 16})
    mixed = fleet.model_copy(
        update={
            "engines": (
                first.model_copy(update={"limits": small}),
                second,
                second.model_copy(update={"engine_id": "new", "limits": None}),
            )
        }
    )
    assert bounds(mixed, "*") == (16, 8192)
    assert bounds(mixed, "engine1") == (256, 8192)
    assert bounds(mixed, "new") == (None, None)
