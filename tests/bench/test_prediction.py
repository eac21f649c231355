from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hmas.bench.corpus_lengths.sample import Part, Sample
from hmas.bench.prediction.__main__ import DATA, LENGTH_WORDS, main, report, sections
from hmas.bench.prediction.baselines import PromptLengthRegression, TaskMean
from hmas.bench.prediction.lengths import coverage_verdict, measure
from hmas.bench.prediction.prequential import finished, part, replay
from hmas.bench.prediction.proxy import proxy_row
from hmas.bench.prediction.scores import (
    coverage,
    coverage_by_bucket,
    kendall_tau,
    mean_absolute_error,
    median_relative_error,
    outcomes,
    pinball,
    r2_log,
)
from hmas.bench.prediction.shifts import mixed
from hmas.bench.prediction.speed import measure_speed
from hmas.controllers.perception.incoming import Prompt
from hmas.controllers.prediction.history import HistoryPredictor
from hmas.controllers.prediction.shipped import read_model
from hmas.engine.features import TaskType

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"the public sets are not in {DATA}")


def sample(
    output_tokens: int,
    prompt_tokens: int = 10,
    task: TaskType = TaskType.QA,
    part: Part = Part.TEST,
    predicted: int | None = None,
) -> Sample:
    return Sample(
        source="gsm8k",
        tenant="a",
        task_type=task,
        prompt_tokens=prompt_tokens,
        output_tokens=output_tokens,
        part=part,
        prompt=Prompt(text="word " * prompt_tokens),
        predicted_class=predicted,
    )


def test_scores_against_numbers_by_hand() -> None:
    truth, predicted = np.array([10.0, 20, 40]), np.array([20.0, 20, 30])
    assert mean_absolute_error(truth, predicted) == pytest.approx(20 / 3)
    assert median_relative_error(truth, predicted) == pytest.approx(0.25)
    assert r2_log(truth, truth) == 1
    assert r2_log(np.array([5.0, 5]), predicted[:2]) is None
    assert kendall_tau(truth, np.array([1.0, 2, 3])) == pytest.approx(1)
    assert kendall_tau(truth, np.array([3.0, 2, 1])) == pytest.approx(-1)
    assert kendall_tau(truth, np.array([2.0, 2, 2])) is None
    assert pinball(truth, np.array([20.0, np.nan, 30])) == pytest.approx((1 + 9) / 2)


def test_coverage_counts_only_known_bounds() -> None:
    found = outcomes([10, 20, 30], [1, 1, 1], [None, 20, 29], [0, 0, 0])
    assert coverage(found) == 0.5
    assert coverage(outcomes([1], [1], [None], [0])) is None
    assert coverage_by_bucket(found) == {}, "two rows say nothing"


@pytest.mark.parametrize(("misses", "verdict"), [(100, "pass"), (130, "fail"), (60, "fail")])
def test_verdict_of_coverage(misses: int, verdict: str) -> None:
    upper = [0.0] * misses + [9.0] * (1000 - misses)
    found = outcomes([5] * 1000, [5] * 1000, upper, [0] * 1000)
    assert coverage_verdict(found)["coverage_verdict"] == verdict
    assert coverage_verdict(found.after(0, 100))["coverage_verdict"] == "not measured"


def test_one_bad_bucket_fails_the_set() -> None:
    upper = ([9.0] * 9 + [0.0]) * 200
    bad = [0.0] * 40 + [9.0] * 160
    found = outcomes([5] * 2200, [5] * 2200, [*upper, *bad], [0] * 2000 + [3] * 200)
    assert coverage_verdict(found)["coverage_verdict"] == "fail"


def test_regression_on_prompt_length_is_least_squares() -> None:
    rng = np.random.default_rng(0)
    samples = [sample(int(20 + 0.5 * x + rng.integers(9)), int(x)) for x in range(1, 300)]
    line = PromptLengthRegression(samples)
    x, y = [s.prompt_tokens for s in samples], [s.output_tokens for s in samples]
    slope, intercept = np.polyfit(x, y, 1)
    assert line.predict(sample(1, 50)) == pytest.approx(slope * 50 + intercept)
    assert PromptLengthRegression().predict(sample(1)) == 0
    assert PromptLengthRegression([sample(7), sample(9)]).predict(sample(1)) == 8


def test_task_mean() -> None:
    mean = TaskMean([sample(10), sample(20), sample(300, task=TaskType.DIALOGUE)])
    assert mean.predict(sample(1)) == 15
    assert mean.predict(sample(1, task=TaskType.DIALOGUE)) == 300
    assert mean.predict(sample(1, task=TaskType.EXTRACTION)) == 110
    assert TaskMean().predict(sample(1)) == 0


def test_each_request_is_predicted_before_it_is_learned() -> None:
    found = replay(HistoryPredictor(), [sample(10)] * 20)
    assert found.predicted[:8].tolist() == [256.0] * 8, "the default, nothing was known"
    assert found.predicted[8:].tolist() == [10.0] * 12
    assert finished(sample(10), "r").output_tokens == 10


def test_rows_of_a_part_keep_their_order_or_are_shuffled_by_seed() -> None:
    samples = [sample(n, part=Part.TRAIN if n % 2 else Part.TEST) for n in range(1, 60)]
    ordered = [s.output_tokens for s in part(samples, Part.TEST, 0, is_ordered=True)]
    shuffled = [s.output_tokens for s in part(samples, Part.TEST, 0, is_ordered=False)]
    assert ordered == sorted(ordered) == sorted(shuffled) != shuffled


def test_the_bound_under_somebody_elses_errors() -> None:
    rng = np.random.default_rng(0)
    samples = [
        sample(
            int(20 * 3**tag * rng.lognormal(0, 0.7)) + 1,
            part=Part.TRAIN if number % 2 else Part.TEST,
            predicted=int(tag),
        )
        for number, tag in enumerate(rng.integers(0, 3, 6000))
    ]
    row = proxy_row(samples, seed=0)
    for key in ("coverage_90", "coverage_bucket_0", "coverage_bucket_1", "coverage_bucket_2"):
        assert row[key] == pytest.approx(0.9, abs=0.02), key


def test_a_mix_holds_its_sets_in_equal_shares_and_in_order() -> None:
    sets = {
        "a": [sample(n) for n in range(1, 100)],
        "b": [sample(n) for n in range(1000, 1100)],
    }
    lengths = [one.output_tokens for one in mixed(sets, ("a", "b"), 60, seed=0)]
    small = [length for length in lengths if length < 1000]
    assert len(small) == 30
    assert small == sorted(small)


def test_speed_counts_what_the_timer_says() -> None:
    now = iter(range(1_000_000))
    row = measure_speed({"gsm8k": [sample(10)]}, 0, read_model(), lambda: next(now) / 1e6)
    assert row["predict_mean_us"] == row["predict_p99_us"] == row["learn_mean_us"] == 1.0
    with pytest.raises(ValueError, match="text"):
        measure_speed({}, 0, read_model())


def test_a_row_beside_two_baselines() -> None:
    rng = np.random.default_rng(0)
    samples = [
        sample(int(rng.integers(1, 200)), int(rng.integers(1, 50)), part=list(Part)[n % 3])
        for n in range(900)
    ]
    said: list[str] = []
    [row] = measure({"gsm8k": samples}, 0, read_model(), said.append)
    assert said == ["lengths of gsm8k"]
    assert row["rows"] == 300
    own, mixed_ = row["mae_own_regression"], row["mae_mixed_regression"]
    assert own == mixed_, "one set: both baselines saw the same rows"
    assert row["own_verdict"] == "fail", "noise cannot be predicted"


def test_without_data_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "lengths", "--data", str(tmp_path / "absent")]) == 1
    assert "absent" in capsys.readouterr().err


def test_the_report_holds_what_was_measured() -> None:
    made: dict[str, object] = {
        "command": "c",
        "commit": "1",
        "date": "d",
        "machine": "m",
        "lengths": [{"set": "gsm8k", "mae": 1.0}],
    }
    assert [one.title for one in sections(made)] == ["Output lengths"]
    assert "gsm8k" in report(made)
    assert LENGTH_WORDS[:20] in report(made)


@needs_data
def test_reaches_what_it_claims(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The bound holds on every set and after every shift; lengths beat the history's."""
    path = tmp_path / "out.json"
    assert main(["--only", "lengths", "--json", "--json-file", str(path)]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made == json.loads(path.read_text())
    rows = {row["set"]: row for row in made["lengths"]}
    verdicts = {name: row.get("coverage_verdict") for name, row in rows.items()}
    assert "fail" not in verdicts.values(), verdicts
    assert [row["verdict"] for row in made["shifts"]] == ["pass"] * 3
    for name in ("azure_conv", "t0_templates", "infercept", "medquad", "alpaca", "gsm8k"):
        assert rows[name]["mae"] < 0.95 * rows[name]["mae_history"], name
