from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.daemon.gateway.body import Body, Route, parse_body, parse_loosely
from hmas.daemon.gateway.errors import ApiError

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=3)
    ),
    max_leaves=10,
)
FIELDS = [
    "model", "messages", "prompt", "input", "stream", "max_tokens", "n", "priority", "metadata",
    "vllm_xargs", "nvext", "tools", "response_format", "service_tier", "session_id", "user",
]  # fmt: skip


def body(**fields: Any) -> bytes:
    return json.dumps(
        {"model": "m", "messages": [{"role": "user", "content": "hi"}]} | fields
    ).encode()


def parsed_or_refused(route: Route, raw: bytes) -> Body | None:
    """A refusal is always the client's error, nothing else may be raised."""
    try:
        return parse_body(route, raw)
    except ApiError as refusal:
        return None if refusal.status == 400 else pytest.fail(f"{refusal.status}: {refusal}")


def test_untouched_bodies_are_only_appended_to() -> None:
    raw = b'{ "model":"m",\n"messages":[{"content":1.50}], "x":1e400 }\n'.replace(b"1e400", b"1e4")
    with_features = parse_body(Route.CHAT, raw).with_features('{"a":1}')
    assert with_features == raw.rstrip()[:-1] + b',"vllm_xargs":{"hmas":"{\\"a\\":1}"}}'


def test_other_xargs_stay_and_priority_goes() -> None:
    parsed = parse_body(Route.CHAT, body(vllm_xargs={"k": 1, "hmas": "forged"}, priority=-9))
    decoded = json.loads(parsed.with_features("ours"))
    assert decoded["vllm_xargs"] == {"k": 1, "hmas": "ours"}
    assert "priority" not in decoded
    assert json.loads(parsed.with_features("ours", 4))["priority"] == 4
    assert json.loads(parsed.without_features())["vllm_xargs"] == {"k": 1}


def test_priority_can_be_added_where_there_was_none() -> None:
    decoded = json.loads(parse_body(Route.CHAT, body()).with_features("x", -3))
    assert (decoded["priority"], decoded["vllm_xargs"]) == (-3, {"hmas": "x"})


def test_null_xargs_are_replaced() -> None:
    decoded = json.loads(parse_body(Route.CHAT, body(vllm_xargs=None)).with_features("x"))
    assert decoded["vllm_xargs"] == {"hmas": "x"}


def test_escaped_names_are_no_way_around() -> None:
    raw = b'{"model":"m","prompt":"x","vllm\\u005fxargs":{"hm\\u0061s":"forged"}}'
    decoded = json.loads(parse_body(Route.COMPLETIONS, raw).with_features("ours"))
    assert decoded["vllm_xargs"] == {"hmas": "ours"}
    assert json.loads(parse_loosely(raw)[1])["vllm_xargs"] == {}


@pytest.mark.parametrize(
    ("fields", "cap"),
    [
        ({}, None),
        ({"max_tokens": 5}, 5),
        ({"max_tokens": 5, "max_completion_tokens": 7}, 7),
        ({"max_tokens": None}, None),
        ({"max_tokens": 0}, 0),
    ],
)
def test_the_clients_cap(fields: dict[str, Any], cap: int | None) -> None:
    assert parse_body(Route.CHAT, body(**fields)).max_output_tokens == cap


def test_names_that_are_no_utf8_are_refused_before_they_reach_an_engine() -> None:
    lone = b'{"model":"m","messages":[{}],"\xed\xa0\x80":1,"priority":2}'
    with pytest.raises(ApiError) as raised:
        parse_body(Route.CHAT, lone)
    assert raised.value.status == 400
    inside = parse_body(
        Route.CHAT, b'{"model":"m","messages":[{}],"vllm_xargs":{"\xed\xa0\x80":1}}'
    )
    assert set(json.loads(inside.with_features("f"))["vllm_xargs"]) == {"hmas"}
    assert parse_loosely(b'{"\xed\xa0\x80":1,"vllm_xargs":{"hmas":"x"}}')[0] is None


def test_hints() -> None:
    hints = parse_body(
        Route.CHAT,
        body(
            priority=3,
            service_tier="flex",
            session_id="s",
            metadata={"role": "planner"},
            nvext={"agent_hints": {"osl": 99, "priority": 2}},
        ),
    ).hints()
    assert (hints.priority, hints.service_tier, hints.session_id) == (3, "flex", "s")
    assert hints.metadata == {"role": "planner"}
    assert (hints.output_tokens, hints.agent_priority) == (99, 2)


def test_responses_and_messages() -> None:
    parsed = parse_body(
        Route.RESPONSES,
        b'{"model":"m","input":"x","instructions":"Be brief","max_output_tokens":9}',
    )
    assert parsed.max_output_tokens == 9
    assert parsed.prompt().system == "Be brief"
    with pytest.raises(ApiError, match="missing required field `messages`"):
        parse_body(Route.MESSAGES, b'{"model":"m"}')


def test_loose_bodies() -> None:
    assert parse_loosely(b"not json") == (None, b"not json")
    assert parse_loosely(b'{"a": 1}') == (None, b'{"a": 1}')
    assert parse_loosely(b'{"model":"m"}') == ("m", b'{"model":"m"}')


@given(st.binary(max_size=300) | json_values.map(lambda v: json.dumps(v).encode()))
def test_any_bytes_parse_or_are_refused(raw: bytes) -> None:
    for route in Route:
        parsed_or_refused(route, raw)
    parse_loosely(raw)


@given(
    st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=5), json_values),
    st.sampled_from(Route),
)
def test_what_parses_keeps_its_meaning(fields: dict[str, Any], route: Route) -> None:
    raw = msgspec.json.encode(
        {"model": "m", "messages": [{}], "prompt": "p", "input": "i"} | fields
    )
    parsed = parsed_or_refused(route, raw)
    if parsed is None:
        return
    parsed.prompt()
    parsed.hints()
    original, sent = json.loads(raw), json.loads(parsed.with_features("ours"))
    xargs = original.pop("vllm_xargs", None) or {}
    assert sent.pop("vllm_xargs") == xargs | {"hmas": "ours"}
    original.pop("priority", None)
    assert sent == original
