"""Plan, evidence, tables, targets, pictures and the command line, on very short runs."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest

from hmas.bench.paper.__main__ import DONE, WRONG_USAGE, main
from hmas.bench.paper.document import Origin, document
from hmas.bench.paper.evidence import Evidence
from hmas.bench.paper.figures_of_run import RunFigures
from hmas.bench.paper.jobs import Job, JobResult, run_job
from hmas.bench.paper.numbers import TABLE_1, TABLE_2
from hmas.bench.paper.page import report, summary_rows
from hmas.bench.paper.pictures import draw
from hmas.bench.paper.plan import (
    ABLATED,
    BOUNDED,
    BY_CONSTRUCTION,
    TUNED,
    Effort,
    Selection,
    coarse_jobs,
    finalists,
    jobs,
    wanted,
)
from hmas.bench.paper.systems import BUDGETS, H_MAS, STOCK_VLLM, ablations, static
from hmas.bench.paper.tables import table_1, table_2, table_4
from hmas.bench.paper.targets import Verdict, targets
from hmas.bench.scenarios.catalogue import SCENARIOS
from hmas.engine.topologies import topology_names

EFFORT = Effort(2, 0.02, None)
PLAIN, PAIR = static("fcfs", 512), static("sjf", 512)
NAMES = ("light", "near", "over", "heavy", "stress", "semantic", "fast", "medium", "slow")


@pytest.fixture(scope="module")
def done() -> list[tuple[Job, JobResult]]:
    """Every workload that has a target, very briefly."""
    kept = [one for one in ablations() if one.name != BY_CONSTRUCTION]
    systems = {
        name: [STOCK_VLLM, H_MAS, PLAIN, PAIR, *(kept if name in ABLATED else [])] for name in NAMES
    }
    planned = jobs(systems, replace(EFFORT, seeds=1), bounded=True)
    return [(job, run_job(job)) for job in planned]


@pytest.fixture(scope="module")
def evidence(done: list[tuple[Job, JobResult]]) -> Evidence:
    return Evidence(done)


def with_goodput(run: RunFigures, rate: float) -> RunFigures:
    return msgspec.structs.replace(run, goodput_rate=rate)


def invented(done: list[tuple[Job, JobResult]], rates: dict[str, float]) -> Evidence:
    """The same runs with other goodput rates, by system."""
    return Evidence(
        (
            job,
            replace(
                result,
                runs=tuple(
                    with_goodput(run, rates.get(run.system, run.goodput_rate))
                    for run in result.runs
                ),
            ),
        )
        for job, result in done
    )


def test_nothing_selected_means_everything() -> None:
    assert set(wanted(Selection())) >= set(SCENARIOS) - {"window-600"}
    assert set(wanted(Selection(tables=frozenset({1})))) == {"fast", "medium", "slow"}
    assert set(wanted(Selection(figures=frozenset({8})))) == {"stress", "semantic"}


def test_ablations_run_where_table_2_looks() -> None:
    systems = wanted(Selection(tables=frozenset({2})))
    assert set(systems) == set(ABLATED)
    names = {system.name for system in systems["near"]}
    assert names == {"stock", "hmas", *TABLE_2} - {BY_CONSTRUCTION}


def test_the_coarse_pass_meets_every_order_and_fcfs_every_budget() -> None:
    pairs = {(job.scenario, *job.systems[0].name.split(":")[1:]) for job in coarse_jobs(EFFORT)}
    assert {order for _, order, _ in pairs} == set(topology_names())
    assert {scenario for scenario, _, _ in pairs} == set(TUNED)
    plain = {
        int(budget) for scenario, order, budget in pairs if (scenario, order) == ("near", "fcfs")
    }
    assert plain == set(BUDGETS)


def test_the_best_pairs_and_the_best_fcfs_budget_go_on() -> None:
    pairs = [static("fcfs", 256), static("fcfs", 512), PAIR, static("edf", 512)]
    coarse = [run_job(Job("over", 0, (pair,), None, 0.05)) for pair in pairs]
    chosen = finalists(coarse)["over"]
    assert any(pair.control.topology == "fcfs" for pair in chosen)
    assert len(chosen) == len({pair.name for pair in chosen}) >= 3


def test_bounds_are_asked_for_once_per_workload_and_seed() -> None:
    planned = jobs({"near": [STOCK_VLLM], "scaling-30": [STOCK_VLLM]}, EFFORT, bounded=True)
    assert [(job.scenario, job.seed) for job in planned if job.bounded] == [
        ("near", 0),
        ("near", 1),
    ]
    assert "scaling-30" not in BOUNDED


def test_no_system_is_above_the_bound(evidence: Evidence) -> None:
    for name in NAMES:
        bound = evidence.bound(name)
        assert bound is not None
        for system in evidence.systems(name):
            assert (evidence.goodput(name, system) or 0) <= bound


def test_tables_put_the_papers_number_beside_ours(evidence: Evidence) -> None:
    rows = table_1(evidence)
    assert [row["system"] for row in rows] == ["stock", "hmas"] * 3
    assert rows[0]["paper"] == TABLE_1["fast"][0]._asdict()
    for row in (*rows, *table_4(evidence), *table_2(evidence)):
        paper, ours = row["paper"], row["ours"]
        assert isinstance(paper, dict)
        assert isinstance(ours, dict)
        assert paper.keys() == ours.keys()
        assert None not in ours.values()


def test_the_rule_row_is_h_mas_itself(evidence: Evidence) -> None:
    [row] = [row for row in table_2(evidence) if row["system"] == BY_CONSTRUCTION]
    assert row["ours"] == {"esg": 1.0, "ttft_p95": 1.0, "tpot_p95": 1.0, "goodput": 1.0}


def verdicts(evidence: Evidence) -> dict[str, Verdict]:
    return {target.name: target.verdict for target in targets(evidence)}


def test_a_target_passes_where_it_is_reached(done: list[tuple[Job, JobResult]]) -> None:
    found = verdicts(invented(done, {"stock": 0.2, "hmas": 0.9, PLAIN.name: 0.3, PAIR.name: 0.8}))
    assert found["over: goodput over stock where stock is under 0.25"] is Verdict.PASS
    assert found["over: goodput over the best FCFS budget"] is Verdict.PASS
    assert found["over: goodput over the best static pair in hindsight"] is Verdict.PASS
    assert found["stress: goodput over stock"] is Verdict.PASS


def test_a_target_fails_where_it_is_not(done: list[tuple[Job, JobResult]]) -> None:
    found = verdicts(invented(done, {"stock": 0.2, "hmas": 0.5, PLAIN.name: 0.3, PAIR.name: 0.8}))
    assert found["over: goodput over stock where stock is under 0.25"] is Verdict.FAIL
    assert found["over: goodput over the best FCFS budget"] is Verdict.FAIL
    assert found["over: goodput over the best static pair in hindsight"] is Verdict.FAIL
    assert found["light: goodput over the best of all"] is Verdict.FAIL


def test_a_multiple_beyond_the_bound_is_named(done: list[tuple[Job, JobResult]]) -> None:
    found = targets(invented(done, {"stock": 0.2, "hmas": 0.9, PLAIN.name: 0.7}))
    [target] = [one for one in found if one.name == "near: goodput over the best FCFS budget"]
    assert target.verdict is Verdict.FAIL
    assert "out of reach" in target.detail


def test_the_rule_row_has_no_verdict(evidence: Evidence) -> None:
    assert not any("Rule-based Meta" in target.name for target in targets(evidence))


def test_a_strong_stock_is_no_failure(done: list[tuple[Job, JobResult]]) -> None:
    found = verdicts(invented(done, {"stock": 0.5, "hmas": 0.9}))
    assert found["near: goodput over stock where stock is under 0.25"] is Verdict.DOES_NOT_APPLY


def test_what_was_not_run_is_not_judged() -> None:
    assert set(verdicts(Evidence([])).values()) == {Verdict.NOT_MEASURED}


def test_the_document_and_the_page_hold_it_all(evidence: Evidence) -> None:
    made = document(evidence, EFFORT, Origin("hmas bench paper", 0.0, 1.0))
    decoded = json.loads(json.dumps(made))
    assert {"command", "commit", "date", "machine", "seeds", "targets", "caveats"} <= set(decoded)
    assert decoded["workloads"]["stress"]["systems"]["hmas"]["lost"] == 0
    assert len(summary_rows(made)) == len(NAMES)
    html = report(made, evidence)
    assert "Compliance over load" in html
    assert not re.search(r"<(?:script|img|link)[^>]+(?:src|href)\s*=", html)


def test_the_pictures_are_drawings(evidence: Evidence, tmp_path: Path) -> None:
    for path in draw(evidence, tmp_path / "images"):
        assert ET.parse(path).getroot().tag.endswith("svg")
    assert len(list((tmp_path / "images").iterdir())) == 2
    assert draw(Evidence([]), tmp_path) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--seeds", "0"], "seeds"),
        (["--workers", "0"], "workers"),
        (["--share", "0"], "share"),
        (["--share", "1.5"], "share"),
    ],
)
def test_wrong_usage_is_explained(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == WRONG_USAGE
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--table", "3"], ["--figure", "1"], ["--nothing"]])
def test_what_is_not_there_cannot_be_selected(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == WRONG_USAGE


def test_one_table_as_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    nowhere = str(tmp_path / "nowhere")
    assert (
        main(["--figure", "8", "--share", "0.02", "--seeds", "1", "--data", nowhere, "--json"])
        == DONE
    )
    made = json.loads(capsys.readouterr().out)
    assert made["data"] != "traces"
    assert made["figures"]["8"].keys() == {"semantic", "stress"}
    assert {row["scenario"] for row in made["tables"]["4"]} == {"semantic", "stress"}


def test_the_loads_of_the_slices_can_be_searched_again(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    nowhere = str(tmp_path / "nowhere")
    arguments = ["--find-loads", "--share", "0.05", "--seeds", "1", "--data", nowhere]
    assert main(arguments) == DONE
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["fast", "medium", "slow"]
