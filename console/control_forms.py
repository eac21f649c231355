"""The forms of the control page; each turns its inputs into one request of the API."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st
from pydantic import ValidationError

from hmas.console import markup, words
from hmas.console.client import ApiError, RefusedError
from hmas.console.session import Session
from hmas.daemon.wire import (
    ALL_ENGINES,
    BypassRequest,
    ControlsRequest,
    FleetStatus,
    HintOut,
    OverrideKind,
    OverrideRequest,
    PinRequest,
    TopologyOut,
)

EXPIRIES: dict[str, float | None] = {
    "15 min": 900.0,
    "1 h": 3600.0,
    "4 h": 14_400.0,
    "24 h": 86_400.0,
    "until removed": None,
}


def render(session: Session) -> None:
    if session.fleet is None:
        return
    if not session.may_act:
        st.html(markup.empty("You may look", "Changing things takes a token with role operator."))
    try:
        pool = session.topologies()
    except ApiError as error:
        st.html(markup.empty("Topologies cannot be read", str(error)))
        return
    with st.container(border=True, key="forms"):
        pin, controls, bypass = st.tabs(["Pin a topology", "Fix controls", "Bypass"])
    with pin:
        st.fragment(_pin)(session, pool)
    with controls:
        st.fragment(_controls)(session)
    with bypass:
        st.fragment(_bypass)(session)
    st.html(markup.section("Topologies", "and what each is good against"))
    st.html(markup.pool_rows(pool))


def _prepared(session: Session, form: str) -> FleetStatus:
    """The fleet as last seen; a form that was sent starts empty again."""
    if st.session_state.pop(f"{form}-sent", False):
        st.session_state[f"{form}-reason"] = ""
        st.session_state[f"{form}-armed"] = False
    assert session.fleet is not None, "render() shows forms only with a fleet"
    return session.fleet


def _target(fleet: FleetStatus, key: str) -> str:
    names = [ALL_ENGINES, *(engine.engine_id for engine in fleet.engines)]
    return st.selectbox("Engine", names, format_func=words.target, key=f"{key}-engine")


def _reason_and_expiry(key: str, placeholder: str) -> tuple[str, float | None]:
    reason = st.text_input("Reason", key=f"{key}-reason", placeholder=placeholder, max_chars=256)
    expiry = st.segmented_control(
        "Ends after", list(EXPIRIES), default="1 h", key=f"{key}-expiry", width="stretch"
    )
    return reason, EXPIRIES[expiry or "1 h"]


def _pin(session: Session, pool: list[TopologyOut]) -> None:
    fleet = _prepared(session, "pin")
    left, right = st.columns(2, gap="small")
    with left:
        topology = st.selectbox(
            "Topology", pool, format_func=lambda member: member.name, key="pin-topology"
        )
    with right:
        engine_id = _target(fleet, "pin")
    st.caption(f"Fights {topology.fights}.")
    hints = _hints(topology)
    reason, duration_s = _reason_and_expiry("pin", "deadline misses since 14:00")
    if st.button(
        f"Pin {topology.name} on {words.target(engine_id)}",
        type="primary",
        key="pin",
        disabled=not session.may_act,
    ):
        _apply(
            session,
            "pin",
            lambda: PinRequest(
                engine_id=engine_id,
                topology=topology.name,
                hints=hints,
                reason=reason,
                duration_s=duration_s,
            ),
        )


def _hints(topology: TopologyOut) -> dict[str, float]:
    """Only what differs from the topology's defaults."""
    if not topology.hints:
        return {}
    with st.expander("Hints"):
        chosen = {hint.name: _hint(topology, hint) for hint in topology.hints}
    defaults = {hint.name: hint.default for hint in topology.hints}
    return {name: value for name, value in chosen.items() if value != defaults[name]}


def _hint(topology: TopologyOut, hint: HintOut) -> float:
    return st.number_input(
        f"{hint.name} ({hint.minimum:g} to {hint.maximum:g})",
        min_value=hint.minimum,
        max_value=hint.maximum,
        value=hint.default,
        help=hint.description or None,
        key=f"hint-{topology.name}-{hint.name}",
    )


def bounds(fleet: FleetStatus, engine_id: str) -> tuple[int | None, int | None]:
    """Most N_run and B_token that every target accepts; None where no engine said so."""
    limits = [
        engine.limits
        for engine in fleet.engines
        if engine.limits is not None and engine_id in {ALL_ENGINES, engine.engine_id}
    ]
    return (
        min((limit.max_num_seqs for limit in limits), default=None),
        min((limit.max_num_batched_tokens for limit in limits), default=None),
    )


def _controls(session: Session) -> None:
    fleet = _prepared(session, "controls")
    st.caption("What is left empty stays with Statera.")
    engine_id = _target(fleet, "controls")
    most_running, most_tokens = bounds(fleet, engine_id)
    left, right = st.columns(2, gap="small")
    with left:
        n_run = _control("N_run", most_running, "requests that run at once")
    with right:
        token_budget = _control("B_token", most_tokens, "tokens of one step")
    reason, duration_s = _reason_and_expiry("controls", "KV cache thrashes")
    if st.button(
        f"Fix on {words.target(engine_id)}", type="primary", key="fix", disabled=not session.may_act
    ):
        _apply(
            session,
            "controls",
            lambda: ControlsRequest(
                engine_id=engine_id,
                n_run=n_run,
                token_budget=token_budget,
                reason=reason,
                duration_s=duration_s,
            ),
        )


def _control(name: str, most: int | None, meaning: str) -> int | None:
    upper = f"1 to {words.count(most)}" if most else "at least 1"
    return st.number_input(
        f"{name} ({upper})",
        min_value=1,
        max_value=most,
        value=None,
        step=1,
        placeholder=meaning,
        key=f"controls-{name}",
    )


def _bypass(session: Session) -> None:
    fleet = _prepared(session, "bypass")
    active = any(held.kind is OverrideKind.BYPASS for held in fleet.overrides)
    st.caption("The kill switch: plain FCFS with unbounded controls, above every pin.")
    if active:
        st.caption("A bypass is in force; remove it under *In force*.")
    engine_id = _target(fleet, "bypass")
    reason, duration_s = _reason_and_expiry("bypass", "incident 4711")
    armed = st.checkbox("Yes, switch H-MAS off for these engines", key="bypass-armed")
    ready = armed and session.may_act
    if st.button(
        f"Bypass {words.target(engine_id)} now", key="bypass", type="primary", disabled=not ready
    ):
        _apply(
            session,
            "bypass",
            lambda: BypassRequest(engine_id=engine_id, reason=reason, duration_s=duration_s),
        )


def _apply(session: Session, form: str, build: Callable[[], OverrideRequest]) -> None:
    """Send it; every problem is said next to the form."""
    try:
        change = session.client.apply(build())
    except ValidationError as error:
        for problem in error.errors():
            st.error(_field_problem(problem["loc"], problem["msg"]))
    except RefusedError as error:
        for line in error.lines:
            st.error(line)
    except ApiError as error:
        st.error(str(error))
    else:
        session.refresh()
        st.session_state[f"{form}-sent"] = True
        st.toast(f"Done: {words.override_title(change.override)}", icon=":material/check:")
        st.rerun()


def _field_problem(where: tuple[int | str, ...], message: str) -> str:
    name = str(where[0]) if where else ""
    if name == "reason":
        return "Reason: say in a few words why, for whoever is on call next."
    message = message.removeprefix("Value error, ")
    return f"{name}: {message}" if name else message
