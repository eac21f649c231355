"""Pin, fix controls, bypass; what holds now; what was decided and why."""

from __future__ import annotations

import streamlit as st

from hmas.console import control_forms, frame, markup, words
from hmas.console.client import ApiError
from hmas.console.session import Session, current
from hmas.console.settings import ConsoleSettings
from hmas.daemon.wire import DecisionOut, FleetStatus, OverrideOut

DECISIONS = 9
GUARD_EVENTS = 6


def render(settings: ConsoleSettings) -> None:
    session = current()
    if session is None:
        return
    st.fragment(_head, run_every=settings.refresh_s)(session)
    acting, showing = st.columns([5, 8], gap="medium")
    with acting:
        control_forms.render(session)
    with showing:
        st.fragment(_refreshed, run_every=settings.refresh_s)(session)
    frame.footer(session)


def _head(session: Session) -> None:
    fleet = frame.head(session)
    if fleet is not None:
        st.html(markup.standing_lines(fleet))


def _refreshed(session: Session) -> None:
    fleet = session.fleet
    if fleet is None:
        return
    _overrides(session, fleet)
    try:
        decisions = session.client.decisions(DECISIONS)
        guards = session.client.guards(GUARD_EVENTS)
    except ApiError as error:
        st.html(markup.empty("Decisions cannot be read", str(error)))
        return
    _decisions(decisions)
    st.html(markup.section("Guards", "what the safety guards found"))
    if guards:
        st.html(markup.guard_rows(guards, frame.zone()))
    else:
        st.html(markup.empty("No guard events", "No guard had to look at anything yet."))


def _overrides(session: Session, fleet: FleetStatus) -> None:
    st.html(markup.section("In force", "operators' overrides, strongest first"))
    if not fleet.overrides:
        st.html(markup.empty("Nothing is overridden", "The controllers decide."))
    for override in sorted(fleet.overrides, key=lambda held: held.kind):
        _override(session, override)


def _override(session: Session, override: OverrideOut) -> None:
    with st.container(border=True, key=f"override-{override.id}"):
        said, removing = st.columns([6, 1], vertical_alignment="center")
        said.html(markup.override_line(override, frame.zone()))
        removing.button(
            "Remove",
            key=f"cancel-{override.id}",
            disabled=not session.may_act,
            on_click=_cancel,
            args=(session, override),
            width="stretch",
        )


def _cancel(session: Session, override: OverrideOut) -> None:
    try:
        session.client.cancel(override.kind, override.id)
    except ApiError as error:
        st.toast(str(error), icon=":material/error:")
    else:
        session.refresh()
        st.toast(f"Removed: {words.override_title(override)}", icon=":material/check:")


def _decisions(decisions: list[DecisionOut]) -> None:
    st.html(markup.section("Decisions", "of the meta-controller; open one for its evidence"))
    if not decisions:
        st.html(
            markup.empty("No decisions yet", "The slow loop decides once a window is complete.")
        )
    opened: set[str] = st.session_state.setdefault("opened_decisions", set())
    with st.container(key="decisions", gap=None):
        for decision in decisions:
            is_open = decision.id in opened
            st.button(
                markup.decision_label(decision),
                key=f"decision-{decision.id}",
                type="tertiary",
                width="stretch",
                icon=":material/expand_more:" if is_open else ":material/chevron_right:",
                on_click=opened.symmetric_difference_update,
                args=({decision.id},),
            )
            if is_open:
                st.html(markup.evidence(decision))
