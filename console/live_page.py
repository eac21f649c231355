"""What runs now, who set it and why, and how it goes. Refreshes itself."""

from __future__ import annotations

import streamlit as st

from hmas.console import figures, frame, markup
from hmas.console.series import Window
from hmas.console.session import Session, current
from hmas.console.settings import ConsoleSettings
from hmas.console.standing import kpis
from hmas.daemon.wire import FleetStatus

SPANS_S = {"5 min": 300.0, "15 min": 900.0, "1 h": 3600.0}
COLUMNS = 3
MOST_BUTTONS = 6


def render(settings: ConsoleSettings) -> None:
    session = current()
    if session is not None:
        st.fragment(_refreshed, run_every=settings.refresh_s)(session)
        frame.footer(session)


def _refreshed(session: Session) -> None:
    fleet = frame.head(session)
    if fleet is None:
        return
    if not fleet.engines:
        st.html(
            markup.empty(
                "No engines yet",
                "Add engines to the configuration, or start one with: hmas engine --simulate",
            )
        )
        return
    cards = st.empty()
    engine_id, span_s, follow = _selection(fleet)
    engine = next(engine for engine in fleet.engines if engine.engine_id == engine_id)
    cards.html(markup.engine_cards(fleet, engine_id, frame.zone()))
    st.html(markup.kpi_strip(kpis(engine.v_short if engine.reachable else None)))
    _charts(session.window(engine_id, span_s, follow=follow))


def _selection(fleet: FleetStatus) -> tuple[str, float, bool]:
    """Which engine, how far back, and whether charts move on; all survive the refresh."""
    names = [engine.engine_id for engine in fleet.engines]
    with st.container(horizontal=True, vertical_alignment="center", key="selection"):
        chosen = _engine(names) or names[0]
        st.html(markup.span_note(chosen, fleet), width="content")
        st.space("stretch")
        follow = st.toggle("Follow", value=True, key="follow", help="off: charts stand still")
        span = st.segmented_control(
            "Time", list(SPANS_S), default="15 min", key="span", label_visibility="collapsed"
        )
    return chosen, SPANS_S[span or "15 min"], follow


def _engine(names: list[str]) -> str | None:
    if len(names) == 1:
        return names[0]
    if len(names) > MOST_BUTTONS:
        return st.selectbox("Engine", names, key="engine", label_visibility="collapsed")
    return st.segmented_control(
        "Engine", names, default=names[0], key="engine", label_visibility="collapsed"
    )


def _charts(window: Window) -> None:
    for start in range(0, len(figures.CHARTS), COLUMNS):
        for chart, column in zip(
            figures.CHARTS[start : start + COLUMNS], st.columns(COLUMNS, gap="small"), strict=True
        ):
            with column.container(border=True, key=f"card-{chart.key}"):
                st.plotly_chart(
                    figures.figure(chart, window),
                    key=f"chart-{chart.key}",
                    theme=None,
                    config={"displayModeBar": False, "responsive": True},
                )
