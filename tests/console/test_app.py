"""The app from login to the live page."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from tests.console.conftest import VIEWER, logged_in


def shown(page: AppTest) -> str:
    return " ".join(element.proto.body for element in page.get("html"))


def test_nothing_is_shown_before_the_login(page: AppTest) -> None:
    page.run()
    assert not page.exception
    assert "Operator console" in shown(page)
    assert "engine0" not in shown(page)


def test_a_wrong_token_is_told(page: AppTest) -> None:
    page.run()
    page.text_input(key="token").set_value("wrong")
    page.button[0].click().run()
    assert page.error[0].value == "This token is not known."
    assert "engine0" not in shown(page)


def test_the_login_leads_to_the_live_page(page: AppTest) -> None:
    logged_in(page)
    text = shown(page)
    assert "2 of 2 engines answer" in text
    assert "set by meta-controller" in text
    assert "Goodput" in text
    assert len(page.get("plotly_chart")) == 6


def test_a_viewer_gets_in_too(page: AppTest) -> None:
    assert "2 of 2 engines answer" in shown(logged_in(page, VIEWER))


def test_the_log_out_forgets_the_session(page: AppTest) -> None:
    logged_in(page)
    next(button for button in page.button if button.label == "Log out").click()
    page.run()
    assert "engine0" not in shown(page)
    assert page.text_input(key="token").value == ""
