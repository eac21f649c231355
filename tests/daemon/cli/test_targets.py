"""Requests made from options; what is wrong with one names the option."""

from __future__ import annotations

import pytest
import typer

from hmas.daemon import wire
from hmas.daemon.cli.exits import Exit
from hmas.daemon.cli.targets import hint_of, request_of, seconds


@pytest.mark.parametrize(("text", "hint"), [("a=1", ("a", 1.0)), ("share=0.5", ("share", 0.5))])
def test_hints_are_read(text: str, hint: tuple[str, float]) -> None:
    assert hint_of(text) == hint


@pytest.mark.parametrize("text", ["", "a", "a=", "=1", "a=b", "a=1=2"])
def test_what_is_no_hint_is_wrong_usage(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as raised:
        hint_of(text)
    assert raised.value.exit_code == Exit.USAGE
    assert f"--hint {text!r} is not NAME=NUMBER" in capsys.readouterr().err


def test_no_duration_is_no_end() -> None:
    assert seconds(None) is None
    assert seconds("1h") == 3600


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"reason": "misses", "n_run": 0}, "--n-run Input should be greater than"),
        ({"reason": "misses"}, "error: give n_run, token_budget or both"),
        ({"n_run": 1}, "--reason Field required"),
        ({"n_run": 1, "reason": "misses", "duration_s": 1e9}, "--for Input should be less"),
    ],
)
def test_the_wrong_option_is_named(
    fields: dict[str, object], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as raised:
        request_of(wire.ControlsRequest, **fields)
    assert raised.value.exit_code == Exit.USAGE
    assert said in capsys.readouterr().err
