"""What an engine's status means to an operator."""

from __future__ import annotations

import pytest

from hmas.console.palette import SYMBOL, Tone
from hmas.console.standing import (
    acknowledgement,
    engine_tone,
    kpis,
    lease,
    losses,
    violation_tone,
    warnings,
)
from hmas.daemon.wire import (
    AckState,
    DirectiveState,
    EngineStatus,
    FleetStatus,
    HealthOut,
    LeaseState,
    StorageHealth,
    ViewPoint,
)

NOW_S = 1000.0


def directive(ack: AckState, reason: str = "") -> DirectiveState:
    return DirectiveState(
        version=7, issued_at_s=990.0, ttl_s=5.0, age_s=3.0, ack=ack, reason=reason
    )


HEALTHY = EngineStatus(
    engine_id="a",
    reachable=True,
    last_seen_s=999.0,
    topology="edf",
    directive=directive(AckState.ACK),
    lease=LeaseState(expires_at_s=1004.0),
    v_short=ViewPoint(at_s=999.0, window_s=5.0, signal_age_s=0.2),
)


def but(**changes: object) -> EngineStatus:
    return HEALTHY.model_copy(update=changes)


def fleet(*engines: EngineStatus) -> FleetStatus:
    return FleetStatus(now_s=NOW_S, started_at_s=0.0, version="1", revision=0, engines=engines)


@pytest.mark.parametrize(
    ("ack", "tone", "word"),
    [
        (AckState.ACK, Tone.GOOD, "v7 ACK"),
        (AckState.NACK, Tone.BAD, "v7 NACK"),
        (AckState.PENDING, Tone.WARN, "v7 sent"),
        (AckState.NO_ANSWER, Tone.BAD, "v7 no answer"),
        (AckState.NONE, Tone.UNKNOWN, "no directive"),
    ],
)
def test_acknowledgements(ack: AckState, tone: Tone, word: str) -> None:
    said = acknowledgement(but(directive=directive(ack, "n_run above 16")))
    assert said.tone is tone
    assert word in said.text
    if ack is AckState.NACK:
        assert said.detail == "n_run above 16"


def test_without_a_directive() -> None:
    assert acknowledgement(but(directive=None)).tone is Tone.UNKNOWN


def test_leases() -> None:
    assert lease(HEALTHY, NOW_S).text == "lease 4 s"
    assert lease(HEALTHY, NOW_S + 10).tone is Tone.BAD
    assert lease(but(lease=LeaseState(expired=True)), NOW_S).text == "lease expired"
    assert lease(but(lease=LeaseState()), NOW_S).tone is Tone.UNKNOWN


def test_all_is_well() -> None:
    assert engine_tone(HEALTHY) is Tone.GOOD
    assert warnings(fleet(HEALTHY), None) == []


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        (but(bypass=True, sentence="overload"), "a runs in BYPASS"),
        (but(reachable=False), "a does not answer (last seen just now)"),
        (but(reachable=False, last_seen_s=None), "a was never reached"),
        (but(lease=LeaseState(expired=True)), "a: lease expired"),
        (but(directive=directive(AckState.NACK, "no")), "a refused directive v7"),
        (but(doubt="unknown vLLM"), "a fell back to stock order"),
        (
            but(v_short=ViewPoint(at_s=1.0, window_s=5.0, signal_age_s=42.0, running=3)),
            "a: no events for 42 s",
        ),
    ],
)
def test_nothing_is_missed(engine: EngineStatus, words: str) -> None:
    assert [say.text for say in warnings(fleet(engine), None)] == [words]


def test_an_idle_engine_has_nothing_to_tell() -> None:
    idle = ViewPoint(at_s=1.0, window_s=5.0, signal_age_s=900.0, running=0, queue_length=0)
    assert warnings(fleet(but(v_short=idle)), None) == []


def test_the_worst_comes_first_and_nothing_is_said_twice() -> None:
    health = HealthOut(
        ready=True,
        problems=("engine a does not answer", "storage lost 3 records"),
        storage=StorageHealth(ok=False),
    )
    found = warnings(fleet(but(reachable=False), but(engine_id="b", doubt="odd")), health)
    assert [say.tone for say in found] == [Tone.BAD, Tone.WARN, Tone.WARN]
    assert [say.text for say in found][1:] == [
        "b fell back to stock order",
        "storage lost 3 records",
    ]


def test_kpis_without_a_signal_are_dashes() -> None:
    idle = kpis(None)
    assert {kpi.value for kpi in idle} == {"–"}
    assert [kpi.label for kpi in idle] == [
        kpi.label for kpi in kpis(ViewPoint(at_s=1.0, window_s=5.0))
    ]


def test_kpis_in_words() -> None:
    view = ViewPoint(
        at_s=1.0,
        window_s=5.0,
        goodput_rate=0.7,
        violation_rate=0.3,
        samples=120,
        ttft_p95_ms=2500.0,
        slo_ttft_ms=2000.0,
        tpot_p95_ms=40.0,
        queue_length=3,
        running=48,
        n_run=64,
        kv_used=0.93,
        arrivals_per_s=4.25,
    )
    shown = {kpi.label: kpi for kpi in kpis(view)}
    assert (shown["Goodput"].value, shown["Goodput"].tone) == ("70 %", Tone.BAD)
    assert shown["Violations"].detail == "of 120 requests"
    assert (shown["TTFT"].value, shown["TTFT"].tone) == ("2.50 s", Tone.WARN)
    assert shown["TPOT"].tone is Tone.CALM
    assert shown["Waiting"].detail == "4.2 arrive/s"
    assert shown["Running"].detail == "of N_run 64"
    assert shown["KV cache"].tone is Tone.WARN


def test_losses_are_counted() -> None:
    assert losses(HEALTHY) == ""
    assert losses(but(event_gaps=2, events_dropped=1)) == "2 event batches lost, 1 events dropped"


def test_violations_have_three_tones_and_unknown() -> None:
    tones = [violation_tone(share) for share in (None, 0.01, 0.1, 0.5)]
    assert tones == [Tone.UNKNOWN, Tone.GOOD, Tone.WARN, Tone.BAD]


def test_every_tone_has_its_own_symbol() -> None:
    assert len(set(SYMBOL.values())) == len(Tone)


@pytest.mark.parametrize(
    ("arrivals", "completions", "text"),
    [(2.0, 3.0, "2.0 arrive/s"), (0.0, 3.0, "3.0 finish/s"), (None, None, "")],
)
def test_the_flow_is_what_is_known(
    arrivals: float | None, completions: float | None, text: str
) -> None:
    view = ViewPoint(at_s=1.0, window_s=5.0, arrivals_per_s=arrivals, completions_per_s=completions)
    assert next(kpi for kpi in kpis(view) if kpi.label == "Waiting").detail == text
