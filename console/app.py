"""The console's page process: login, then Live and Control. Started by ``console.run``."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from hmas.console import brand, control_page, live_page, login_page
from hmas.console.session import current
from hmas.console.settings import ConsoleSettings


def main() -> None:
    st.set_page_config(page_title=brand.NAME, page_icon=brand.as_image(brand.MARK), layout="wide")
    st.html(Path(__file__).with_name("style.css"))
    settings = ConsoleSettings()
    session = current()
    if session is None:
        login_page.render(settings)
        return
    st.logo(brand.WORDMARK, size="large")
    pages = [
        st.Page(lambda: live_page.render(settings), title="Live", url_path="live", default=True),
        st.Page(lambda: control_page.render(settings), title="Control", url_path="control"),
    ]
    st.navigation(pages, position="top").run()


main()
