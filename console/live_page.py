"""What runs now, who set it and why, and how it goes. Refreshes itself."""

from __future__ import annotations

import streamlit as st

from hmas.console import figures, frame, markup
from hmas.console.session import Session, current
from hmas.console.settings import ConsoleSettings
from hmas.console.standing import kpis
from hmas.daemon.wire import EngineStatus, FleetStatus

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
    engine_id, span_s = _selection(fleet)
    engine = next(engine for engine in fleet.engines if engine.engine_id == engine_id)
    st.html(markup.engine_cards(fleet, engine_id, frame.zone()))
    st.html(markup.kpi_strip(kpis(engine.v_short if engine.reachable else None)))
    _charts(session, engine, span_s)


def _selection(fleet: FleetStatus) -> tuple[str, float]:
    """Which engine and how far back; both survive the refresh."""
    names = [engine.engine_id for engine in fleet.engines]
    with st.container(horizontal=True, vertical_alignment="center", key="selection"):
        chosen = _engine(names)
        span = st.segmented_control(
            "Time", list(SPANS_S), default="15 min", key="span", label_visibility="collapsed"
        )
    return chosen or names[0], SPANS_S[span or "15 min"]


def _engine(names: list[str]) -> str | None:
    if len(names) > MOST_BUTTONS:
        return st.selectbox("Engine", names, key="engine", label_visibility="collapsed")
    return st.segmented_control(
        "Engine", names, default=names[0], key="engine", label_visibility="collapsed"
    )


def _charts(session: Session, engine: EngineStatus, span_s: float) -> None:
    window = session.window(engine.engine_id, span_s)
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
