import json

import pytest

from hmas.bench.fidelity import main, report
from hmas.bench.fidelity_run import Timing
from hmas.bench.fidelity_table import Comparison, compare, figures


def comparison(scale):
    real, simulated = ([Timing(s * n, 2 * s * n, 5) for n in range(1, 50)] for s in (1.0, scale))
    return Comparison("engine", "detail", compare([figures(real)], figures(simulated)))


def test_the_report_says_whether_goal_and_limit_are_met():
    assert report([comparison(1.04)], 0.5, [])["within_goal"]
    assert not report([comparison(1.04), comparison(0.93)], 0.5, [])["within_goal"]
    assert report([comparison(0.93)], 0.5, [])["within_limit"]
    assert not report([comparison(1.2)], 0.5, [])["within_limit"]


def test_without_data_the_published_part_is_skipped(tmp_path, capsys):
    assert main(["--only", "published", "--data", str(tmp_path), "--json"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["comparisons"] == []
    assert "skipped" in told.err


def test_a_machine_without_vllm_is_told_how_to_get_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HMAS_TEST_VLLM_PYTHON", str(tmp_path / "none"))
    assert main(["--only", "cpu"]) == 1
    assert "make setup-vllm" in capsys.readouterr().err


@pytest.mark.vllm
def test_a_short_run_against_a_real_vllm_gives_a_table(capsys):
    main(["--only", "cpu", "--seconds", "5", "--repeats", "2", "--json"])
    [cpu] = json.loads(capsys.readouterr().out)["comparisons"]
    assert len(cpu["rows"]) == 6
    assert all(row["real_ms"] > 0 and row["simulated_ms"] > 0 for row in cpu["rows"])
