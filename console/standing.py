"""What an engine's status means: tone and words for directive, lease, KPIs, warnings. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hmas.console import words
from hmas.console.palette import Tone
from hmas.daemon.wire import AckState, EngineStatus, FleetStatus, HealthOut, ViewPoint

STALE_SIGNAL_S = 5.0


@dataclass(frozen=True, slots=True)
class Say:
    """A few words with their urgency."""

    tone: Tone
    text: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Kpi:
    label: str
    value: str
    detail: str
    tone: Tone = Tone.CALM


def acknowledgement(engine: EngineStatus) -> Say:
    """How the engine took its newest directive."""
    directive = engine.directive
    if directive is None:
        return Say(Tone.UNKNOWN, "no directive yet")
    name = f"directive v{directive.version}"
    match directive.ack:
        case AckState.ACK:
            return Say(Tone.GOOD, f"{name} ACK", f"confirmed {words.duration(directive.age_s)} ago")
        case AckState.NACK:
            return Say(Tone.BAD, f"{name} NACK", directive.reason or "refused without a reason")
        case AckState.PENDING:
            return Say(Tone.WARN, f"{name} sent", "the engine has not answered yet")
        case AckState.NO_ANSWER:
            return Say(Tone.BAD, f"{name} no answer", "the engine runs its last directive")
        case AckState.NONE:
            return Say(Tone.UNKNOWN, "no directive yet")


def lease(engine: EngineStatus, now_s: float) -> Say:
    """How long the engine still trusts its directive."""
    if engine.lease.expired:
        return Say(Tone.BAD, "lease expired", "the engine fell back to bypass by itself")
    if engine.lease.expires_at_s is None:
        return Say(Tone.UNKNOWN, "no lease")
    left_s = engine.lease.expires_at_s - now_s
    if left_s <= 0:
        return Say(Tone.BAD, "lease ran out", "the engine falls back to bypass by itself")
    return Say(Tone.GOOD, f"lease {words.duration(left_s)}", "renewed by every cycle")


def engine_tone(engine: EngineStatus) -> Tone:
    """The worst there is to say of an engine."""
    if not engine.reachable or engine.lease.expired or engine.bypass:
        return Tone.BAD
    if engine.doubt:
        return Tone.WARN
    ack = acknowledgement(engine).tone
    return Tone.BAD if ack is Tone.BAD else Tone.GOOD


def violation_tone(share: float | None) -> Tone:
    if share is None:
        return Tone.UNKNOWN
    return Tone.GOOD if share < 0.05 else Tone.WARN if share < 0.2 else Tone.BAD


def _latency_tone(value_ms: float | None, target_ms: float | None) -> Tone:
    if value_ms is None or target_ms is None:
        return Tone.UNKNOWN if value_ms is None else Tone.CALM
    return (
        Tone.GOOD if value_ms <= target_ms else Tone.WARN if value_ms <= 2 * target_ms else Tone.BAD
    )


def _of_target(target_ms: float | None) -> str:
    return f"p95 · target {words.milliseconds(target_ms)}" if target_ms else "95th percentile"


def _flow(view: ViewPoint) -> str:
    """Arrivals, or what finishes where nobody reports arrivals."""
    if view.arrivals_per_s:
        return f"{view.arrivals_per_s:.1f} arrive/s"
    if view.completions_per_s is not None:
        return f"{view.completions_per_s:.1f} finish/s"
    return ""


def kpis(view: ViewPoint | None) -> list[Kpi]:
    """The seven numbers of the live page; an idle or silent engine shows dashes."""
    if view is None:
        names = ("Goodput", "Violations", "TTFT", "TPOT", "Waiting", "Running", "KV cache")
        return [Kpi(name, words.NOT_MEASURED, "no signal", Tone.UNKNOWN) for name in names]
    violations = view.violation_rate
    of_samples = f"of {words.count(view.samples)} requests" if view.samples else "no requests yet"
    n_run = f"of N_run {words.count(view.n_run)}" if view.n_run else "N_run unbounded"
    return [
        Kpi("Goodput", words.percent(view.goodput_rate), "met both targets",
            violation_tone(None if view.goodput_rate is None else 1 - view.goodput_rate)),
        Kpi("Violations", words.percent(violations), of_samples, violation_tone(violations)),
        Kpi("TTFT", words.milliseconds(view.ttft_p95_ms), _of_target(view.slo_ttft_ms),
            _latency_tone(view.ttft_p95_ms, view.slo_ttft_ms)),
        Kpi("TPOT", words.milliseconds(view.tpot_p95_ms), _of_target(view.slo_tpot_ms),
            _latency_tone(view.tpot_p95_ms, view.slo_tpot_ms)),
        Kpi("Waiting", words.count(view.queue_length), _flow(view)),
        Kpi("Running", words.count(view.running), n_run),
        Kpi("KV cache", words.percent(view.kv_used), "of blocks in use",
            _kv_tone(view.kv_used)),
    ]  # fmt: skip


def _kv_tone(used: float | None) -> Tone:
    if used is None:
        return Tone.UNKNOWN
    return Tone.GOOD if used < 0.9 else Tone.WARN


def losses(engine: EngineStatus) -> str:
    """Events that never arrived; rates may be too low then. Empty when there are none."""
    parts = []
    if engine.event_gaps:
        parts.append(f"{words.count(engine.event_gaps)} event batches lost")
    if engine.events_dropped:
        parts.append(f"{words.count(engine.events_dropped)} events dropped")
    return ", ".join(parts)


def is_idle(view: ViewPoint) -> bool:
    return not view.running and not view.queue_length


def is_silent(view: ViewPoint) -> bool:
    """Work is there and no events come; an idle engine has nothing to tell."""
    return (view.signal_age_s or 0) > STALE_SIGNAL_S and not is_idle(view)


def warnings(fleet: FleetStatus, health: HealthOut | None) -> list[Say]:
    """What must not be missed, worst first."""
    found = [say for engine in fleet.engines for say in _engine_warnings(engine, fleet.now_s)]
    if health is not None:
        told = [engine.engine_id for engine in fleet.engines if engine_tone(engine) is Tone.BAD]
        news = (text for text in health.problems if not any(_names(text, name) for name in told))
        found += [Say(Tone.WARN, text) for text in news]
    order = [Tone.BAD, Tone.WARN, Tone.CALM]
    return sorted(found, key=lambda say: order.index(say.tone))


def _names(text: str, engine_id: str) -> bool:
    """Whether a sentence is about this engine."""
    return re.search(rf"(?<![\w-]){re.escape(engine_id)}(?![\w-])", text) is not None


def _engine_warnings(engine: EngineStatus, now_s: float) -> list[Say]:
    name = engine.engine_id
    if engine.last_seen_s is None:
        text = f"{name} was never reached"
        return [Say(Tone.BAD, text, "Is it started, and is its control link where we look?")]
    if not engine.reachable:
        seen = words.ago(engine.last_seen_s, now_s)
        text = f"{name} does not answer (last seen {seen})"
        return [Say(Tone.BAD, text, "It serves on under its last directive, then in bypass.")]
    found = []
    if engine.bypass:
        found.append(Say(Tone.BAD, f"{name} runs in BYPASS", engine.sentence))
    if engine.lease.expired:
        found.append(Say(Tone.BAD, f"{name}: lease expired", "It fell back to bypass by itself."))
    if engine.directive is not None and engine.directive.ack is AckState.NACK:
        text = f"{name} refused directive v{engine.directive.version}"
        found.append(Say(Tone.BAD, text, engine.directive.reason))
    if engine.doubt:
        found.append(Say(Tone.WARN, f"{name} fell back to stock order", engine.doubt))
    if engine.v_short is not None and is_silent(engine.v_short):
        age = words.duration(engine.v_short.signal_age_s or 0)
        found.append(Say(Tone.WARN, f"{name}: no events for {age}", "Its numbers are old."))
    return found
