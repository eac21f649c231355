from __future__ import annotations

import json
from pathlib import Path

import pytest

from hmas.bench.replay_cli import DONE, WRONG_USAGE, main

SHORT = ["--rps", "2", "--duration", "10", "--seed", "3"]


def test_json_is_one_object_and_the_same_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SHORT, "--json"]) == DONE
    first = capsys.readouterr()
    assert main([*SHORT, "--json"]) == DONE
    assert capsys.readouterr().out == first.out
    found = json.loads(first.out)
    assert (found["requests"], found["lost"], found["seed"]) == (20, 0, 3)
    assert found["control"] == "stock"
    assert first.err == ""


def test_traces_are_mixed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "conv.csv"
    path.write_text(
        "TIMESTAMP,ContextTokens,GeneratedTokens\n"
        "2023-11-16 18:15:46.0,100,5\n2023-11-16 18:15:47.0,100,5\n"
    )
    arguments = ["--trace", str(path), "--trace", str(path), "--lengths", "true", "--json"]
    assert main(arguments) == DONE
    found = json.loads(capsys.readouterr().out)
    assert found["requests"] == 4
    assert found["trace"] == "conv.csv + conv.csv"
    assert "oracle" in found["lengths"]


def test_a_table_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SHORT, "--quiet"]) == DONE
    output = capsys.readouterr()
    assert "goodput_rate" in output.out
    assert output.err == ""


def test_progress_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(SHORT) == DONE
    assert "replaying" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--control", "lifo"], "control 'lifo': expected stock"),
        (["--trace", "nowhere.csv"], "nowhere.csv: cannot be read"),
        (["--profile", "none"], "no profile 'none'"),
        (["--rps", "-1"], "rps must be a positive number"),
        (["--rps", "nan"], "rps must be a positive number"),
        (["--duration", "0"], "duration must be a positive number"),
        (["--seed", "-4"], "seed must not be negative"),
        (["--series", "0"], "series must be a positive number"),
    ],
)
def test_wrong_usage_says_what_is_wrong(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--json"]) == WRONG_USAGE
    assert message in capsys.readouterr().err
