"""What both pages share: head line, warnings, footer."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import streamlit as st

from hmas.console import markup, words
from hmas.console.client import TokenError
from hmas.console.palette import Tone
from hmas.console.session import Session, log_out
from hmas.console.standing import Say, warnings
from hmas.daemon.wire import FleetStatus


def zone() -> ZoneInfo | None:
    """The browser's time zone."""
    return words.zone(st.context.timezone)


def head(session: Session) -> FleetStatus | None:
    """Refresh, then head line and warnings; None before the first answer."""
    try:
        fleet = session.refresh()
    except TokenError:
        log_out("Logged out: the admin API does not know this token any more.")
        st.rerun()
    if fleet is None:
        st.html(markup.empty("The admin API does not answer", session.problem))
        return None
    st.html(markup.headline(fleet, zone(), session.freshness()))
    found = warnings(fleet, session.health)
    if session.problem:
        found.insert(0, Say(Tone.BAD, "This picture is old", session.problem))
    # An empty banner keeps its place: what follows must not jump or lose its state.
    st.html(markup.banners(found) or "<div></div>")
    return fleet


def footer(session: Session) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="footer"):
        st.caption(f"Signed in as **{session.who.name}** ({session.who.role})")
        st.button("Log out", type="tertiary", on_click=log_out)
