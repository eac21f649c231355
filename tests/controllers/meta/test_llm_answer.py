from __future__ import annotations

import json
import math
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hmas.controllers.meta.base import Proposal, Refusal, RefusalKind
from hmas.controllers.meta.llm_answer import (
    MAX_CHARS,
    REASON_PATTERN,
    answer_schema,
    parse_answer,
    response_format,
)
from hmas.engine.topologies import hint_bounds, topology_names
from tests.controllers.support import context

CONTEXT = context(quarantined={"wfq": 700.0})


def answer(**changes: Any) -> dict[str, Any]:
    choice = {"topology": "edf", "hints": {"first_token": 1}}
    return {"reason": "deadline misses", "choice": choice, "bypass": False} | changes


def parsed(**changes: Any) -> Proposal | Refusal:
    return parse_answer(json.dumps(answer(**changes)), CONTEXT)


def refused(text: str) -> Refusal:
    outcome = parse_answer(text, CONTEXT)
    assert isinstance(outcome, Refusal)
    return outcome


def test_a_valid_answer_is_a_proposal() -> None:
    assert parsed() == Proposal(
        controller="llm", topology="edf", hints={"first_token": 1.0}, reason="deadline misses"
    )


def test_null_keeps_a_default_and_reasoning_and_fences_are_stripped() -> None:
    choice = {"topology": "edf", "hints": {"first_token": None}}
    text = f"<think>edf it is</think>\n```json\n{json.dumps(answer(choice=choice))}\n```"
    outcome = parse_answer(text, CONTEXT)
    assert isinstance(outcome, Proposal)
    assert outcome.hints == {}


def test_punctuation_in_a_reason_is_no_reason_to_refuse() -> None:
    outcome = parsed(reason='TTFT "misses": (0.3); \u2192 edf!' + "x" * 500)
    assert isinstance(outcome, Proposal)
    assert outcome.reason.startswith("TTFT misses 0.3 edf xxx")
    assert len(outcome.reason) <= 200


@pytest.mark.parametrize(
    ("text", "kind", "detail"),
    [
        ("", RefusalKind.NOT_JSON, "Expecting value"),
        ("I choose EDF.", RefusalKind.NOT_JSON, "Expecting value"),
        ("x" * 1_000_000, RefusalKind.TOO_LONG, "1000000 characters, at most 16384"),
        ("[" * MAX_CHARS, RefusalKind.NOT_JSON, "recursion"),
        ('{"a":' * 3000, RefusalKind.NOT_JSON, ""),
        ("9" * 5000, RefusalKind.NOT_JSON, "digits"),
        ('{"bypass": true, "bypass": false}', RefusalKind.NOT_JSON, "names a key twice"),
        ("NaN", RefusalKind.NOT_JSON, "NaN is not JSON"),
        ("[]", RefusalKind.WRONG_SCHEMA, "answer"),
        ("null", RefusalKind.WRONG_SCHEMA, "answer"),
        ("\ud800", RefusalKind.NOT_JSON, ""),
    ],
)
def test_garbage_is_refused_with_its_reason(text: str, kind: RefusalKind, detail: str) -> None:
    refusal = refused(text)
    assert refusal.kind is kind
    assert detail in refusal.detail
    assert refusal.detail.isascii()


def choice(topology: Any = "edf", **hints: Any) -> dict[str, Any]:
    return {"topology": topology, "hints": hints}


@pytest.mark.parametrize(
    ("changes", "kind", "detail"),
    [
        ({"choice": choice("lifo")}, RefusalKind.UNKNOWN_TOPOLOGY, "'lifo' is not available"),
        ({"choice": choice("wfq")}, RefusalKind.QUARANTINED, "another 640 s"),
        ({"choice": choice(7)}, RefusalKind.WRONG_SCHEMA, "choice.topology"),
        ({"choice": choice("x" * 99)}, RefusalKind.WRONG_SCHEMA, "choice.topology"),
        ({"choice": choice(aging_every=1e6)}, RefusalKind.HINT_OUT_OF_BOUNDS, "aging_every"),
        ({"choice": choice(split_s=1)}, RefusalKind.HINT_OUT_OF_BOUNDS, "no hint 'split_s'"),
        ({"choice": choice(first_token=True)}, RefusalKind.WRONG_SCHEMA, "first_token"),
        ({"choice": choice(first_token="1")}, RefusalKind.WRONG_SCHEMA, "first_token"),
        ({"bypass": "no"}, RefusalKind.WRONG_SCHEMA, "bypass"),
        ({"bypass": 0}, RefusalKind.WRONG_SCHEMA, "bypass"),
        ({"reason": ""}, RefusalKind.WRONG_SCHEMA, "reason"),
        ({"reason": ["edf"]}, RefusalKind.WRONG_SCHEMA, "reason"),
        ({"token_budget": 1}, RefusalKind.WRONG_SCHEMA, "token_budget"),
    ],
)
def test_wrong_content_is_refused_by_field(
    changes: dict[str, Any], kind: RefusalKind, detail: str
) -> None:
    outcome = parsed(**changes)
    assert isinstance(outcome, Refusal)
    assert outcome.kind is kind
    assert detail in outcome.detail


def test_infinite_hints_are_refused() -> None:
    text = json.dumps(answer()).replace('"first_token": 1', '"first_token": 1e999')
    assert refused(text).kind is RefusalKind.WRONG_SCHEMA


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from([*topology_names(), "lifo", "reason", "choice", "hints", "topology"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["reason", "choice", "hints", "topology", "bypass", "x", "aging_every"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)
NEARLY = st.builds(
    lambda reason, topology, hints, bypass, extra: {
        "reason": reason,
        "choice": {"topology": topology, "hints": hints},
        "bypass": bypass,
        **extra,
    },
    st.text(max_size=300) | JSON,
    st.sampled_from([*topology_names(), "EDF", ""]) | JSON,
    st.dictionaries(
        st.sampled_from(["aging_every", "gate_period", "fast_share", "first_token", "x"]),
        st.floats() | st.integers() | JSON,
        max_size=5,
    )
    | JSON,
    st.booleans() | JSON,
    st.just({}) | st.dictionaries(st.text(max_size=5), JSON, max_size=1),
)


def assert_harmless(text: str) -> None:
    """Never raises, never lets anything invalid through."""
    outcome = parse_answer(text, CONTEXT)
    if isinstance(outcome, Refusal):
        assert outcome.detail.isascii()
        assert len(outcome.detail) <= 200
        return
    assert outcome.topology in CONTEXT.candidates
    bounds = hint_bounds(outcome.topology)
    for name, value in outcome.hints.items():
        low, high = bounds[name]
        assert math.isfinite(value)
        assert low <= value <= high
    assert isinstance(outcome.bypass, bool)


@settings(max_examples=300)
@given(NEARLY)
def test_fuzzed_answers_are_harmless(data: Any) -> None:
    assert_harmless(json.dumps(data))


@given(st.text() | JSON.map(json.dumps))
def test_fuzzed_texts_are_harmless(text: str) -> None:
    assert_harmless(text)


@given(st.binary(max_size=400), st.integers(0, 100))
def test_damaged_answers_are_harmless(noise: bytes, position: int) -> None:
    text = json.dumps(answer())
    assert_harmless(text[:position] + noise.decode("latin-1") + text[position:])


def strict_objects(node: Any) -> list[dict[str, Any]]:
    """Every object schema within a schema."""
    found = []
    if isinstance(node, dict):
        if node.get("type") == "object":
            found.append(node)
        for value in node.values():
            found += strict_objects(value)
    elif isinstance(node, list):
        for value in node:
            found += strict_objects(value)
    return found


def test_schema_is_strict_and_free_of_free_strings() -> None:
    schema = answer_schema(CONTEXT)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert "$ref" not in json.dumps(schema)
    for node in strict_objects(schema):
        assert node["additionalProperties"] is False
        assert node["required"] == list(node["properties"])
    for node in strict_objects(schema):
        for value in node["properties"].values():
            assert value.get("type") != "string" or value.keys() & {"enum", "pattern"}
    assert schema["properties"]["reason"]["pattern"] == REASON_PATTERN
    assert response_format(CONTEXT)["json_schema"]["strict"] is True


def test_schema_offers_only_what_is_allowed_now() -> None:
    choices = answer_schema(CONTEXT)["properties"]["choice"]["anyOf"]
    offered = [one["properties"]["topology"]["enum"][0] for one in choices]
    assert offered == CONTEXT.candidates
    assert "wfq" not in offered
    everything = context(quarantined=dict.fromkeys(topology_names(), 1e9))
    (only,) = answer_schema(everything)["properties"]["choice"]["anyOf"]
    assert only["properties"]["topology"]["enum"] == ["fcfs"]
    calm, storm = (
        answer_schema(context(bypass_allowed=allowed))["properties"]["bypass"]
        for allowed in (False, True)
    )
    wish, no_wish = True, False
    assert not jsonschema.Draft202012Validator(calm).is_valid(wish)
    assert jsonschema.Draft202012Validator(calm).is_valid(no_wish)
    assert jsonschema.Draft202012Validator(storm).is_valid(wish)


@st.composite
def schema_answers(draw: st.DrawFn) -> dict[str, Any]:
    """Anything that satisfies the schema."""
    choices = answer_schema(CONTEXT)["properties"]["choice"]["anyOf"]
    one = draw(st.sampled_from(choices))["properties"]
    hints = {}
    for name, spec in one["hints"]["properties"].items():
        number = spec["anyOf"][0]
        hints[name] = draw(st.none() | st.floats(number["minimum"], number["maximum"]))
    reason = draw(st.from_regex(r"\A[A-Za-z0-9 ,.%/-]{1,200}\Z"))
    return {
        "reason": reason,
        "choice": {"topology": one["topology"]["enum"][0], "hints": hints},
        "bypass": False,
    }


@given(schema_answers())
def test_whatever_satisfies_the_schema_is_accepted(data: dict[str, Any]) -> None:
    jsonschema.validate(data, answer_schema(CONTEXT))
    outcome = parse_answer(json.dumps(data), CONTEXT)
    if data["reason"].strip():
        assert isinstance(outcome, Proposal)
        assert outcome.topology == data["choice"]["topology"]
