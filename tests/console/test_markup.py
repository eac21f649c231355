"""HTML: everything that comes from outside is escaped."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from hmas.console import markup
from hmas.console.palette import Tone
from hmas.console.standing import Kpi, Say
from hmas.daemon.wire import (
    DecisionOut,
    EngineStatus,
    FleetStatus,
    GuardEventOut,
    OverrideOut,
    ProposalOut,
    RefusalOut,
    TopologyOut,
    Verdict,
)

EVIL = '<img src=x onerror="alert(1)">'
VOID = {"img", "br"}


class Balance(HTMLParser):
    """Collects tags and checks that each one is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def engine(**changes: object) -> EngineStatus:
    fields: dict[str, object] = {
        "engine_id": EVIL,
        "kind": EVIL,
        "model": EVIL,
        "reachable": True,
        "last_seen_s": 99.0,
        "topology": EVIL,
        "set_by": EVIL,
        "set_at_s": 40.0,
        "sentence": EVIL,
        "doubt": EVIL,
        "event_gaps": 3,
    }
    return EngineStatus.model_validate(fields | changes)


FLEET = FleetStatus(
    now_s=100.0,
    started_at_s=0.0,
    version="1",
    revision=0,
    meta_mode=EVIL,
    demo=True,
    engines=(engine(), engine(engine_id="b", bypass=True), engine(engine_id="c", reachable=False)),
)
DECISION = DecisionOut(
    id=EVIL,
    at_s=100.0,
    engine_id=EVIL,
    sentence=EVIL,
    source="llm",
    proposals=(
        ProposalOut(source="llm", primary=True, topology=EVIL, reason=EVIL, latency_s=0.5),
        ProposalOut(source=EVIL, primary=False, refusal=RefusalOut(kind=EVIL, detail=EVIL)),
    ),
    inputs={EVIL: EVIL, "tasks": {"QA": 0.5}, "at_s": 1_790_000_000.0, "drift": [EVIL], "no": None},
    guard=Verdict.FAIL,
    guard_sentence=EVIL,
    prompt_version=EVIL,
)
GUARD = GuardEventOut(
    id="g", at_s=1.0, engine_id=EVIL, guard=EVIL, verdict=Verdict.ERROR, sentence=EVIL
)
OVERRIDE = OverrideOut(
    id="o", kind="pin", engine_id=EVIL, owner=EVIL, reason=EVIL, created_at_s=1.0, topology=EVIL
)

PIECES = {
    "headline": markup.headline(FLEET, None, Say(Tone.BAD, EVIL, EVIL)),
    "banners": markup.banners([Say(Tone.BAD, EVIL, EVIL)] * 6),
    "cards": markup.engine_cards(FLEET, EVIL, None),
    "lines": markup.standing_lines(FLEET),
    "kpis": markup.kpi_strip([Kpi(EVIL, EVIL, EVIL, Tone.BAD)]),
    "empty": markup.empty(EVIL, EVIL),
    "guards": markup.guard_rows([GUARD], None),
    "evidence": markup.evidence(DECISION),
    "override": markup.override_line(OVERRIDE, None),
    "pool": markup.pool_rows([TopologyOut(name=EVIL, fights=EVIL)]),
    "section": markup.section(EVIL, EVIL),
    "login": markup.login_head("data:image/svg+xml;base64,", EVIL),
}


@pytest.mark.parametrize("name", PIECES)
def test_pieces_are_balanced_and_hold_nothing_foreign(name: str) -> None:
    parser = Balance()
    parser.feed(PIECES[name])
    assert parser.open == []
    assert parser.seen.count("img") == (1 if name == "login" else 0)
    assert "onerror" not in " ".join(parser.seen)


def test_the_card_says_who_and_when() -> None:
    card = markup.engine_cards(
        FLEET.model_copy(update={"engines": (engine(engine_id="a", set_by="llm", owner="meta"),)}),
        "a",
        None,
    )
    assert "set by meta-controller (llm), 1 min ago" in card
    assert 'class="engine good chosen"' in card or 'class="engine warn chosen"' in card


def test_bypass_and_silence_are_unmistakable() -> None:
    cards = PIECES["cards"]
    assert "<strong>BYPASS</strong>" in cards
    assert "no answer, last seen just now" in cards


def test_banners_beyond_four_are_counted() -> None:
    assert "and 2 more" in PIECES["banners"]
    assert markup.banners([]) == ""


def test_evidence_shows_moments_as_times_and_leaves_out_what_is_missing() -> None:
    assert "14:13:20 UTC" in PIECES["evidence"]
    assert "<dt>no</dt>" not in PIECES["evidence"]
    assert "QA 0.5" in PIECES["evidence"]
    assert "taken" in PIECES["evidence"]


def test_a_decisions_label_means_nothing_to_markdown() -> None:
    label = markup.decision_label(
        DECISION.model_copy(update={"sentence": "**[x](http://evil)** $y$ :red[z]"})
    )
    assert r"\*\*\[x\]\(http\://evil\)\*\* \$y\$ \:red\[z\]" in label
    assert ":orange-badge[guard: fail]" in label


def test_a_refused_answer_is_marked() -> None:
    refused = ProposalOut(source="llm", primary=True, refusal=RefusalOut(kind="timeout"))
    assert "answer refused" in markup.decision_label(
        DECISION.model_copy(update={"proposals": (refused,)})
    )


def test_a_switch_is_marked() -> None:
    switched = DECISION.model_copy(
        update={"applied": True, "before": "fcfs", "topology": "edf", "guard": None}
    )
    assert ":blue-badge[switched]" in markup.decision_label(switched)


@pytest.mark.parametrize(
    ("view", "words"),
    [
        (None, "no numbers yet"),
        ({"running": 3, "signal_age_s": 60.0}, "numbers of the last 10 s"),
        ({"running": 0, "queue_length": 0, "signal_age_s": 60.0}, "idle for 1 min"),
    ],
)
def test_the_note_says_which_time_the_numbers_are_about(
    view: dict[str, object] | None, words: str
) -> None:
    short = None if view is None else {"at_s": 1.0, "window_s": 10.0, **view}
    fleet = FLEET.model_copy(update={"engines": (engine(engine_id="a", v_short=short),)})
    assert words in markup.span_note("a", fleet)
