from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from hmas.daemon.gateway.prompts import MAX_PARSED_BYTES, MAX_PARSED_ITEMS, read_prompt


def raw(value: object) -> Raw:
    return Raw(json.dumps(value).encode())


def test_the_last_user_turn_and_the_system_prompt() -> None:
    prompt = read_prompt(
        raw(
            [
                {"role": "system", "content": "Be terse"},
                {"role": "user", "content": "first"},
                {"role": "assistant", "content": "answer"},
                {"role": "user", "content": 'say "hi"\n'},
            ]
        )
    )
    assert (prompt.text, prompt.system, prompt.turns) == ('say "hi"\n', "Be terse", 4)


def test_parts() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 400_000}}
    content = [{"type": "text", "text": "What is this?"}, image]
    prompt = read_prompt(raw([{"role": "user", "content": content}]))
    assert prompt.text == "What is this?"
    assert prompt.size_bytes < 2000, "an image's bytes are no prompt tokens"


@pytest.mark.parametrize(
    ("value", "text", "token_ids"),
    [
        ("hello", "hello", None),
        (["one", "two"], "one", None),
        ([1, 2, 3], "", 3),
        ([[1, 2], [3]], "", 3),
        ([], "", None),
        ([{"type": "message", "role": "user", "content": "hey"}], "hey", None),
    ],
)
def test_prompts_and_inputs(value: object, text: str, token_ids: int | None) -> None:
    prompt = read_prompt(raw(value))
    assert (prompt.text, prompt.token_ids) == (text, token_ids)


def test_shape() -> None:
    prompt = read_prompt(
        raw("x"),
        system=raw("sys"),
        tools=raw([{"type": "function"}]),
        response_format=raw({"type": "json_schema"}),
    )
    assert (prompt.system, prompt.tools, prompt.json_answer) == ("sys", 1, True)
    assert not read_prompt(raw("x"), tools=raw([]), response_format=raw({"type": "text"})).tools


def test_a_long_turn_is_read_at_both_ends() -> None:
    text = "Summarize:\n" + "é" * 50_000 + "\nin one line"
    prompt = read_prompt(
        Raw(json.dumps([{"role": "user", "content": text}], ensure_ascii=False).encode())
    )
    assert prompt.text.startswith("Summarize:\n")
    assert prompt.text.endswith("in one line")
    assert len(prompt.text) < 4000
    assert prompt.size_bytes > 100_000


def test_a_huge_conversation_is_not_parsed() -> None:
    turn = {"role": "user", "content": "y" * 50}
    content = raw([{"role": "user", "content": "Translate this"}, *[turn] * 60_000])
    assert len(memoryview(content)) > MAX_PARSED_BYTES
    prompt = read_prompt(content)
    assert prompt.text.startswith("Translate this")
    assert 4 < prompt.turns < 100, "counted at the end only"


def test_of_many_turns_the_first_and_the_last_are_read() -> None:
    turns = [{"role": "assistant", "content": "y" * 50}] * 2000
    first, last = {"role": "system", "content": "Be terse"}, {"role": "user", "content": "Solve"}
    prompt = read_prompt(raw([first, *turns, last]))
    assert (prompt.system, prompt.text, prompt.turns) == ("Be terse", "Solve", 2002)
    assert prompt.size_bytes == pytest.approx(2000 * 52, rel=0.05)


def test_more_turns_than_anyone_sends_cost_no_more() -> None:
    turns = [{"role": "user", "content": "z"}] * (MAX_PARSED_ITEMS + 1)
    prompt = read_prompt(raw(turns))
    assert prompt.text.startswith("z")
    assert read_prompt(raw(["word"] * (MAX_PARSED_ITEMS + 1))).text.startswith("word")


def test_braces_in_a_text_are_no_turns() -> None:
    code = {"role": "user", "content": "Explain: " + "f() { return {}; } " * 200}
    prompt = read_prompt(raw([{"role": "system", "content": "sys"}, code]))
    assert (prompt.system, prompt.turns) == ("sys", 2)
    assert prompt.text.startswith("Explain: f()")


def test_of_many_parts_the_last_are_read() -> None:
    parts = [{"type": "text", "text": str(number)} for number in range(1000)]
    prompt = read_prompt(raw([{"role": "user", "content": parts}]))
    assert prompt.text == "997\n998\n999"


@pytest.mark.parametrize(
    "content",
    [
        b'[{"content": "\\ud800"}]',
        b'[{"role": 5, "content": {"a": 1}}, 7]',
        b'["x", 3]',
        b'[{"content":"\xff"}]',
    ],
)
def test_strange_content_is_read_as_far_as_it_goes(content: bytes) -> None:
    assert read_prompt(Raw(content)).size_bytes >= 0


part = st.fixed_dictionaries(
    {}, optional={"type": st.text(max_size=5), "text": st.text(max_size=9)}
)
message = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["user", "system", "tool", 3]),
        "content": st.none() | st.text(max_size=30) | st.lists(part, max_size=3) | st.integers(),
    },
)


@given(
    st.lists(message | st.integers() | st.text(max_size=5) | st.lists(st.integers()), max_size=5)
)
def test_anything_is_read(messages: list[Any]) -> None:
    content = raw(messages)
    prompt = read_prompt(content, system=content, tools=content, response_format=content)
    assert prompt.size_bytes >= 0
