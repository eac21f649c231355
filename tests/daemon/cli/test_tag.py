"""``hmas tag``: one answer a line, and bad lines named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from hmas.daemon.cli.main import app
from tests.daemon.cli.conftest import Hmas

LINES: list[dict[str, Any]] = [
    {"prompt": "Translate to German: good morning", "max_tokens": 40},
    {
        "model": "m",
        "messages": [{"role": "user", "content": "Summarize the following article: ..."}],
        "tools": [{"type": "function", "function": {"name": "f"}}],
        "response_format": {"type": "text"},
    },
    {"prompt": "zq xv", "metadata": {"task_type": "QA"}},
]


def written(hmas: Hmas, lines: list[Any]) -> str:
    path = hmas.folder / "prompts.jsonl"
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(texts) + "\n")
    return str(path)


def test_each_line_gets_its_answer(hmas: Hmas) -> None:
    result = hmas("tag", "--file", written(hmas, LINES), "--json")
    assert result.exit_code == 0, result.output
    first, second, third = (json.loads(line) for line in result.stdout.splitlines())
    assert first["task_type"] == "Translation"
    assert first["source"]["task"] in {"rules", "learned"}
    assert 0 < first["predicted_output_tokens"] <= first["upper_bound"] <= 40
    assert (first["slo_ttft_ms"], first["slo_tpot_ms"]) == (4500, 80)
    assert [row["line"] for row in (first, second, third)] == [1, 2, 3]
    assert second["known"]
    assert (third["source"]["task"], third["probability"]) == ("explicit", 1.0)
    assert all(row["microseconds"] > 0 for row in (first, second, third))
    assert set(first["source"]) == {"task", "slo", "length", "bound", "latency"}


def test_the_source_of_latencies_is_said_and_lines_do_not_crowd_each_other(hmas: Hmas) -> None:
    (hmas.folder / "hmas.yaml").write_text(
        "engines: [{hardware: {gpu: A100, parameters_b: 7, layers: 32, heads: 32,"
        " vocabulary: 32000}}]\n"
    )
    file = written(hmas, [LINES[2]] * 40)
    result = hmas("tag", "--file", file, "--config", str(hmas.folder / "hmas.yaml"), "--json")
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert {row["source"]["latency"] for row in rows} == {"trained"}
    assert len({row["predicted_ttft_ms"] for row in rows}) == 1


def test_people_get_a_table(hmas: Hmas) -> None:
    said = hmas.says(0, "tag", "--file", written(hmas, LINES))
    assert "Translation" in said
    assert "4500 / 80" in said


def test_bad_lines_are_named_and_the_others_answered(hmas: Hmas) -> None:
    bad = ["[1]", "{", {"prompt": 3}, {"max_tokens": 2}, {"prompt": "x", "max_tokens": "many"}]
    result = hmas("tag", "--file", written(hmas, [*bad, "", LINES[0]]), "--json")
    assert result.exit_code == 2
    assert [json.loads(line)["line"] for line in result.stdout.splitlines()] == [7]
    for number, field in ((3, "prompt"), (4, "prompt"), (5, "max_tokens")):
        assert f"line {number}, field {field}" in result.stderr
    assert "line 1:" in result.stderr
    assert "5 of the lines" in result.stderr


def test_thousands_of_bad_lines_are_counted_not_told(hmas: Hmas) -> None:
    result = hmas("tag", "--file", written(hmas, ["{"] * 1000))
    assert result.exit_code == 2
    assert "1000 of the lines" in result.stderr
    assert "line 500" not in result.stderr


def test_standard_input_is_a_dash(tmp_path: Path) -> None:
    env = {"HMAS_STATE_DIR": str(tmp_path), "HMAS_RUNTIME_DIR": str(tmp_path)}
    arguments = ["tag", "--file", "-", "--json"]
    result = CliRunner().invoke(app, arguments, input=json.dumps(LINES[0]), env=env)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["line"] == 1


def test_a_file_that_is_not_there_is_wrong_usage(hmas: Hmas) -> None:
    assert "cannot be read" in hmas.says(2, "tag", "--file", str(hmas.folder / "none.jsonl"))
