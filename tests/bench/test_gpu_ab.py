import json

import pytest

from hmas.bench.gpu_ab import Plan, RatedRound, machine, main, render, report
from hmas.bench.vllm_ab import Round


def rounds(plan):
    return [
        RatedRound(rate, Round(number, system, 0.5, 90.0, 200.0, 20.0, 40.0, 100, 0, 0.5))
        for number in range(1, plan.rounds + 1)
        for system in ("stock", "hmas")
        for rate in plan.rates
    ]


def test_the_table_has_a_row_for_every_rate_and_system(monkeypatch, tmp_path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho vLLM 0.24.0\n")
    python.chmod(0o755)
    monkeypatch.setenv("HMAS_TEST_VLLM_PYTHON", str(python))
    plan = Plan(rates=(5.0, 9.0), rounds=2)
    outcome = report(rounds(plan), plan, ["--rounds", "2"])
    assert [(row["rate_rps"], row["system"]) for row in outcome["rows"]] == [
        (5.0, "stock"),
        (5.0, "hmas"),
        (9.0, "stock"),
        (9.0, "hmas"),
    ]
    text = render(outcome)
    assert "vLLM 0.24.0" in text
    assert "| 9 | hmas | 0.500 | 90 / 200 | 20.0 / 40.0 | 0 |" in text


def test_the_machine_is_named():
    assert "cores" in machine()


def test_without_vllm_it_says_how_to_get_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HMAS_TEST_VLLM_PYTHON", str(tmp_path / "none"))
    assert main([]) == 1
    assert "make setup-vllm" in capsys.readouterr().err


@pytest.mark.vllm
def test_the_script_runs_against_the_cpu_build(capsys):
    flags = ["--device", "cpu", "--tiny", "--rates", "2", "--seconds", "5", "--json"]
    assert main(flags) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["system"] for row in rows] == ["stock", "hmas"]
    assert all(row["lost"] == 0 and row["ttft_p50_ms"] > 0 for row in rows)
