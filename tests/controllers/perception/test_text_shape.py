from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hmas.controllers.perception.incoming import Prompt
from hmas.controllers.perception.text_shape import SHAPES, shape_rows


def form(prompt: Prompt) -> set[int]:
    rows, _ = shape_rows(prompt)
    return set(rows)


def test_turns_tools_and_punctuation_change_the_form() -> None:
    plain = form(Prompt(text="A question"))
    assert form(Prompt(text="A question", turns=9)) != plain
    assert form(Prompt(text="A question", tools=1)) != plain
    assert form(Prompt(text="A question", json_answer=True)) != plain
    assert form(Prompt(text="A question?")) != plain
    assert form(Prompt(text="Ein Привет")) != form(Prompt(text="Ein Gruppe"))


def test_what_the_rules_say_is_heard() -> None:
    _, said = shape_rows(Prompt(text="Translate this"))
    _, silent = shape_rows(Prompt(text="zq xv"))
    assert said
    assert not silent


@given(st.text(), st.text(), st.integers(-5, 10**9), st.integers(0, 9), st.booleans())
def test_rows_are_distinct_and_in_range(
    text: str, system: str, turns: int, tools: int, json_answer: bool
) -> None:
    prompt = Prompt(text=text, system=system, turns=turns, tools=tools, json_answer=json_answer)
    rows, points = shape_rows(prompt)
    both = [*rows, *points]
    assert len(set(both)) == len(both)
    assert all(0 <= row < SHAPES for row in both)
