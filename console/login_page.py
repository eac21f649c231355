"""Asks for the token; nothing else is shown before."""

from __future__ import annotations

import streamlit as st

from hmas.console import brand, markup
from hmas.console.client import ApiError, TokenError
from hmas.console.session import FAREWELL, log_in
from hmas.console.settings import ConsoleSettings


def render(settings: ConsoleSettings) -> None:
    with st.container(key="login", width=420):
        st.html(markup.login_head(brand.as_image(brand.MARK), settings.admin_url))
        with st.form("login-form", border=False):
            token = st.text_input(
                "Token",
                type="password",
                key="token",
                placeholder="a token of admin.tokens",
                autocomplete="current-password",
            )
            pressed = st.form_submit_button("Log in", type="primary", width="stretch")
        st.caption("A daemon without `admin.tokens` writes one to its state directory: admin.token")
        if farewell := st.session_state.pop(FAREWELL, ""):
            st.warning(farewell)
        if pressed:
            _try(settings, token.strip())


def _try(settings: ConsoleSettings, token: str) -> None:
    try:
        log_in(settings, token)
    except TokenError:
        st.error("This token is not known." if token else "A token is needed.")
    except ApiError as error:
        st.error(str(error))
    else:
        st.rerun()
