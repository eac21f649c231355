"""Words for what is wrong."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hmas.daemon.config.problems import Problem, SettingsError, nearest


def test_a_problem_reads_like_a_sentence() -> None:
    assert str(Problem("a.b", "flag", "is wrong")) == "a.b (flag): is wrong"
    assert str(Problem("a.b", "", "is wrong")) == "a.b: is wrong"


def test_an_error_tells_all_of_them() -> None:
    error = SettingsError([Problem("a", "", "one"), Problem("b", "", "two")])
    assert str(error) == "a: one\nb: two"


def test_the_nearest_key_is_offered() -> None:
    assert nearest("prot", ["port", "host"]) == "did you mean 'port'?"
    assert nearest("zzz", ["port", "host"]) == "known here: host, port"
    assert nearest("zzz", []) == "nothing can be set here"


@given(st.text(max_size=30), st.lists(st.text(min_size=1, max_size=10), max_size=5))
def test_any_name_gets_an_answer(name: str, known: list[str]) -> None:
    assert nearest(name, known)
