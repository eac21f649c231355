"""HTML of the parts that Streamlit has no element for. Pure; everything shown is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from zoneinfo import ZoneInfo

from hmas.console import words
from hmas.console.palette import SYMBOL, Tone
from hmas.console.standing import Kpi, Say, acknowledgement, engine_tone, is_idle, lease, losses
from hmas.daemon.wire import (
    DecisionOut,
    EngineStatus,
    FleetStatus,
    GuardEventOut,
    OverrideKind,
    OverrideOut,
    Owner,
    ProposalOut,
    TopologyOut,
    Verdict,
)

OLDEST_S = 1e9
"""Larger numbers of seconds are moments, smaller ones durations."""
_MARKDOWN = frozenset("\\`*_{}[]()<>#+-!|~$:")
_VERDICT_TONE = {
    Verdict.PASS: Tone.GOOD,
    Verdict.FAIL: Tone.BAD,
    Verdict.INCONCLUSIVE: Tone.CALM,
    Verdict.ERROR: Tone.WARN,
}


def _mark(tone: Tone) -> str:
    return f'<i class="mark" aria-hidden="true">{SYMBOL[tone]}</i>'


def chip(say: Say) -> str:
    """A pill with symbol, words, and the detail on hover."""
    title = f' title="{escape(say.detail)}"' if say.detail else ""
    return f'<span class="chip {say.tone}"{title}>{_mark(say.tone)}{escape(say.text)}</span>'


def clock(now_s: float, zone: ZoneInfo | None) -> str:
    """Both times in full, for the page's head."""
    here = words.local(now_s, zone)
    local = f"<span><b>{here}</b> {escape(str(zone))}</span>" if here else ""
    return f'<div class="clock"><span><b>{words.utc(now_s)}</b> UTC</span>{local}</div>'


def headline(fleet: FleetStatus, zone: ZoneInfo | None, freshness: Say) -> str:
    """The page's first line: how the fleet is, how fresh that is, what time it is."""
    answering = sum(engine.reachable for engine in fleet.engines)
    total = len(fleet.engines)
    tone = Tone.GOOD if answering == total else Tone.BAD
    noun = "engine answers" if answering == 1 else "engines answer"
    fleet_chip = chip(Say(tone, f"{answering} of {total} {noun}"))
    meta = chip(Say(Tone.CALM, f"meta: {fleet.meta_mode}")) if fleet.meta_mode else ""
    demo = chip(Say(Tone.WARN, "invented data")) if fleet.demo else ""
    chips = f"{fleet_chip}{chip(freshness)}{meta}{demo}"
    return f'<div class="headline"><div class="chips">{chips}</div>{clock(fleet.now_s, zone)}</div>'


def banners(says: Iterable[Say], at_most: int = 4) -> str:
    """Warnings across the page, worst first; the rest is counted."""
    shown = list(says)
    rows = [
        f'<div class="banner {say.tone}" role="alert">{_mark(say.tone)}'
        f"<b>{escape(say.text)}</b><span>{escape(say.detail)}</span></div>"
        for say in shown[:at_most]
    ]
    if len(shown) > at_most:
        rows.append(f'<div class="banner calm">and {len(shown) - at_most} more</div>')
    return f'<div class="banners">{"".join(rows)}</div>' if rows else ""


def engine_cards(fleet: FleetStatus, selected: str, zone: ZoneInfo | None) -> str:
    """One card per engine: topology, who set it and why, directive, lease."""
    cards = "".join(
        _engine_card(engine, fleet.now_s, zone, chosen=engine.engine_id == selected)
        for engine in fleet.engines
    )
    many = " many" if len(fleet.engines) > 3 else ""
    return f'<div class="engines{many}">{cards}</div>'


def _engine_card(engine: EngineStatus, now_s: float, zone: ZoneInfo | None, *, chosen: bool) -> str:
    tone = engine_tone(engine)
    about = " · ".join(escape(part) for part in (engine.model, _kind(engine)) if part)
    status = _directive_chips(engine, now_s)
    bypass = " bypass" if engine.bypass else ""
    return (
        f'<section class="engine {tone}{bypass}{" chosen" if chosen else ""}" '
        f'data-engine="{escape(engine.engine_id)}">'
        f"<header>{_mark(tone)}<b>{escape(engine.engine_id)}</b><span>{about}</span></header>"
        f'<div class="topology"><strong>{escape(_topology(engine))}</strong>'
        f"{_owner(engine, now_s, zone)}</div>"
        f'<p class="why">{escape(engine.sentence) or "nothing known yet"}</p>'
        f'<div class="chips">{status}</div></section>'
    )


def _kind(engine: EngineStatus) -> str:
    return f"{engine.kind} {engine.kind_version}".strip()


def _topology(engine: EngineStatus) -> str:
    if engine.bypass:
        return "BYPASS"
    return engine.topology or "unknown"


def _owner(engine: EngineStatus, now_s: float, zone: ZoneInfo | None) -> str:
    if engine.topology is None:
        return ""
    who = f"set by {words.OWNER_WORDS[engine.owner]}"
    by = f" ({engine.set_by})" if engine.set_by else ""
    at = engine.set_at_s
    title = f' title="{words.both_times(at, zone)}"' if at is not None else ""
    when = f", {words.ago(at, now_s)}" if at is not None else ""
    css = "pin" if engine.owner in {Owner.PIN, Owner.OPERATOR} else "auto"
    return f'<span class="owner {css}"{title}>{escape(who + by + when)}</span>'


def _directive_chips(engine: EngineStatus, now_s: float) -> str:
    if not engine.reachable:
        if engine.last_seen_s is None:
            return chip(Say(Tone.BAD, "never reached"))
        return chip(Say(Tone.BAD, f"no answer, last seen {words.ago(engine.last_seen_s, now_s)}"))
    chips = [acknowledgement(engine), lease(engine, now_s)]
    if engine.doubt:
        chips.append(Say(Tone.WARN, "stock order", engine.doubt))
    lost = losses(engine)
    if lost:
        chips.append(Say(Tone.WARN, lost, "rates may be too low"))
    return "".join(chip(say) for say in chips)


def span_note(engine_id: str, fleet: FleetStatus) -> str:
    """Which time the numbers below are about."""
    view = next((e.v_short for e in fleet.engines if e.engine_id == engine_id), None)
    if view is None:
        said = "no numbers yet"
    elif is_idle(view) and (view.signal_age_s or 0) > view.window_s:
        said = f"idle for {words.duration(view.signal_age_s or 0)}"
    else:
        said = f"numbers of the last {words.duration(view.window_s)}"
    return f'<span class="note"><b>{escape(engine_id)}</b> {said}</span>'


def kpi_strip(kpis: Iterable[Kpi]) -> str:
    tiles = "".join(
        f'<div class="kpi {kpi.tone}"><label>{escape(kpi.label)}</label>'
        f"<b>{_mark(kpi.tone) if kpi.tone in {Tone.WARN, Tone.BAD} else ''}{escape(kpi.value)}</b>"
        f"<span>{escape(kpi.detail)}</span></div>"
        for kpi in kpis
    )
    return f'<div class="kpis">{tiles}</div>'


def empty(title: str, text: str) -> str:
    """A calm place holder that says what would be here, and what to do."""
    return f'<div class="empty"><b>{escape(title)}</b><p>{escape(text)}</p></div>'


def guard_rows(events: Iterable[GuardEventOut], zone: ZoneInfo | None) -> str:
    rows = "".join(
        f'<tr title="{words.both_times(event.at_s, zone)}"><td class="at">{words.utc(event.at_s)}'
        f"</td><td>{escape(event.engine_id)}</td><td>{escape(event.guard)}</td>"
        f"<td>{chip(Say(_VERDICT_TONE[event.verdict], str(event.verdict)))}</td>"
        f"<td>{escape(event.sentence)}</td></tr>"
        for event in events
    )
    head = "<tr><th>UTC</th><th>Engine</th><th>Guard</th><th>Verdict</th><th>Finding</th></tr>"
    return f'<div class="scroll"><table class="rows">{head}{rows}</table></div>'


def evidence(decision: DecisionOut) -> str:
    """What a decision was made of: proposals, guard, inputs."""
    proposals = "".join(_proposal(proposal, decision.source) for proposal in decision.proposals)
    inputs = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(_input(name, value))}</dd></div>"
        for name, value in decision.inputs.items()
        if value not in (None, "", [], {})
    )
    guard = ""
    if decision.guard is not None:
        verdict = chip(Say(_VERDICT_TONE[decision.guard], f"guard: {decision.guard}"))
        guard = f'<p class="guard">{verdict} {escape(decision.guard_sentence)}</p>'
    facts = ", ".join(
        text
        for text in (
            f"directive v{decision.directive_version}" if decision.directive_version else "",
            f"prompt version {decision.prompt_version}" if decision.prompt_version else "",
            f"decision {decision.id}",
        )
        if text
    )
    return (
        f'<div class="evidence"><h4>Proposals</h4><table class="rows">{proposals}</table>{guard}'
        f"<h4>Inputs</h4><dl>{inputs or '<div><dt>none recorded</dt></div>'}</dl>"
        f'<p class="facts">{escape(facts)}</p></div>'
    )


def _proposal(proposal: ProposalOut, taken: str) -> str:
    role = "taken" if proposal.source == taken else "primary" if proposal.primary else "shadow"
    tone = Tone.GOOD if role == "taken" else Tone.CALM
    if proposal.refusal is not None:
        refusal = proposal.refusal
        said = chip(Say(Tone.BAD, f"refused: {refusal.kind}"))
        why = escape(refusal.detail)
    else:
        said = f"<b>{escape('bypass' if proposal.bypass else proposal.topology or 'hold')}</b>"
        why = escape(proposal.reason)
    latency = f"{proposal.latency_s:.2f} s" if proposal.latency_s is not None else ""
    return (
        f"<tr><td>{escape(proposal.source)}</td><td>{chip(Say(tone, role))}</td>"
        f'<td>{said}</td><td>{why}</td><td class="at">{latency}</td></tr>'
    )


def _input(name: str, value: object) -> str:
    if name.endswith("_s") and isinstance(value, int | float) and value > OLDEST_S:
        return f"{words.utc(value)} UTC"
    return _plain(value)


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_plain(item)}" for name, item in value.items())
    if isinstance(value, list):
        return ", ".join(_plain(item) for item in value)
    return str(value)


def login_head(mark: str, admin_url: str) -> str:
    return (
        f'<div class="login-head"><img src="{mark}" alt=""><h1>H-MAS</h1>'
        f"<p>Operator console of {escape(admin_url)}</p></div>"
    )


def section(title: str, note: str = "") -> str:
    return f'<div class="section"><h3>{escape(title)}</h3><span>{escape(note)}</span></div>'


def override_line(override: OverrideOut, zone: ZoneInfo | None) -> str:
    """One override: what, who, why, until when."""
    end = override.expires_at_s
    until = f" (until {words.both_times(end, zone)})" if end is not None else ""
    tone = Tone.BAD if override.kind is OverrideKind.BYPASS else Tone.CALM
    return (
        f'<div class="override {tone}"><b>{escape(words.override_title(override))}</b>'
        f'<span class="left" title="{escape(until)}">{escape(words.remaining(override))}</span>'
        f"<p>{escape(override.reason)}"
        f"<em>{escape(override.owner)}, {words.utc(override.created_at_s)} UTC</em></p></div>"
    )


def standing_lines(fleet: FleetStatus) -> str:
    """One line per engine: what it runs and how it took that."""
    lines = "".join(
        f'<div class="standing {engine_tone(engine)}" data-engine="{escape(engine.engine_id)}">'
        f"{_mark(engine_tone(engine))}<b>{escape(engine.engine_id)}</b>"
        f"<strong>{escape(_topology(engine))}</strong>"
        f'<span class="why">{escape(engine.sentence)}</span>'
        f'<div class="chips">{_directive_chips(engine, fleet.now_s)}</div></div>'
        for engine in fleet.engines
    )
    return f'<div class="standings">{lines}</div>'


def decision_label(decision: DecisionOut) -> str:
    """A decision as the label of its button, in Streamlit's Markdown."""
    badges = []
    if decision.bypass:
        badges.append(":red-badge[bypass]")
    elif decision.applied and decision.topology != decision.before:
        badges.append(":blue-badge[switched]")
    if decision.guard is not None and decision.guard is not Verdict.PASS:
        badges.append(f":orange-badge[guard: {decision.guard}]")
    if any(p.refusal is not None for p in decision.proposals if p.primary):
        badges.append(":orange-badge[answer refused]")
    where = f":gray[{words.utc(decision.at_s)}\u2002{plain_markdown(decision.engine_id)}]\u2002"
    return " ".join([where, plain_markdown(decision.sentence), *badges])


def plain_markdown(text: str) -> str:
    """``text`` without meaning to Markdown: it may come from an LLM."""
    return "".join(f"\\{char}" if char in _MARKDOWN else char for char in text)


def pool_rows(pool: Iterable[TopologyOut]) -> str:
    """Ω as a reference: what each topology is good against."""
    rows = "".join(
        f"<tr><td><b>{escape(topology.name)}</b></td><td>{escape(topology.fights)}</td></tr>"
        for topology in pool
    )
    return f'<div class="scroll"><table class="rows">{rows}</table></div>'
