from __future__ import annotations

import json
from pathlib import Path

import pytest

from hmas.bench.corpus.sample import sample
from hmas.bench.corpus.tasks import LOADERS
from hmas.bench.paper.document import Origin
from hmas.bench.perception.__main__ import main, parser
from hmas.bench.perception.accuracy import accuracy, chain
from hmas.bench.perception.card import ORIGINS, model_card
from hmas.bench.perception.left_out import LeftOut, left_out
from hmas.bench.perception.outcome import Outcome, document, printed, report, targets
from hmas.bench.perception.speed import WARM_UP, Speed, measure, timed
from hmas.bench.perception.train import task_split
from hmas.controllers.perception.incoming import Incoming, Prompt
from hmas.controllers.perception.learned import SHIPPED, load
from hmas.controllers.perception.training import TASKS, data_hash
from hmas.engine.features import TaskType

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
SAMPLES = [
    sample("public", TaskType.QA, "What is osmosis?"),
    sample("public", TaskType.TRANSLATION, "Translate to French: yes"),
    sample("written", TaskType.QA, "zq"),
]
SPEED = Speed(10, mean_ms=0.2, p50_ms=0.2, p98_ms=2.0, p99_ms=2.1, per_s=5000, memory_mb=90)


def outcome(**changes: object) -> Outcome:
    found = accuracy(SAMPLES, chain(None))
    parts: dict[str, object] = {
        "origin": Origin("the command", 0.0, 1.0),
        "seed": 0,
        "model": "shipped",
        "removed": 7,
        "trained_on": 100,
        "chain": found,
        "alone": found,
        "rules": found,
        "left_out": (LeftOut("public", 2, 0.9), LeftOut("written", 1, 0.1)),
        "speed": SPEED,
    }
    return Outcome(**{**parts, **changes})  # type: ignore[arg-type]


def verdicts(of: Outcome) -> dict[object, object]:
    return {row["target"]: row["verdict"] for row in targets(of)}


def test_verdicts_follow_the_measurements() -> None:
    found = verdicts(outcome())
    assert found["accuracy, public source left out, mean"] == "pass"
    assert found["perception + prediction, p98 ms"] == "fail"
    assert found["requests/s on one core"] == "pass"
    assert verdicts(outcome(left_out=()))["accuracy, public source left out, mean"] == (
        "not measured"
    )


def test_left_out_means_with_and_without_our_own_templates() -> None:
    assert outcome().left_out_mean(public=True) == pytest.approx(0.9)
    assert outcome().left_out_mean(public=False) == pytest.approx(0.5)


def test_the_document_says_where_its_numbers_come_from() -> None:
    made = document(outcome())
    assert {"command", "commit", "machine", "date", "seed", "chain", "confusion"} <= set(made)
    assert json.loads(json.dumps(made)) == made


def test_page_and_text_show_all_tables() -> None:
    page, text = report(outcome()), printed(outcome())
    for words in ("Accuracy by source", "Confusion of the chain", "Speed", "the command"):
        assert words in page
        assert words in text
    assert "http" not in page


def test_timing_counts_every_call() -> None:
    seen: list[Incoming] = []
    found = timed(seen.append, [Prompt(text="a"), Prompt(text="b")], 0.02)
    assert found.requests == 5
    assert found.p50_ms <= found.p98_ms <= found.p99_ms
    assert len(seen) == WARM_UP + 5 + 2


def test_speed_is_measured_in_a_gateway_of_its_own() -> None:
    found = measure(SAMPLES, 0.05)
    assert found.requests == 12
    assert found.mean_ms > 0
    assert found.memory_mb > 10


def test_a_left_out_source_is_not_trained_on() -> None:
    pytest.importorskip("sklearn", reason="needs the extra 'train'")
    pytest.importorskip("datasketch", reason="needs the extra 'train'")
    known = [
        sample(source, task, f"{source} {task.value} {number}")
        for source in ("one", "two")
        for task in TASKS
        for number in range(4)
    ]
    said: list[str] = []
    (found,) = left_out(known, ["two"], 0, said.append)
    assert (found.source, found.prompts) == ("two", 4 * len(TASKS))
    assert 0 <= found.accuracy <= 1
    assert said == ["leaving out two (1 of 1)"]


def test_a_missing_folder_is_said_and_not_raised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--data", str(tmp_path)]) == 1
    assert "bench perception:" in capsys.readouterr().err


def test_the_card_names_data_licences_labels_and_metrics() -> None:
    counts = {"trained_on": 1234, "tested_on": 5, "near_duplicates_removed": 6}
    metrics = {"chain_source_balanced": 0.91, "chain_overall": 0.9, "model_source_balanced": 0.89}
    card = model_card(SHIPPED.read_bytes(), counts | metrics)
    assert set(ORIGINS) == set(LOADERS)
    for words in ("1,234", "91.0%", "CC BY 4.0", "Word problems: all MathReasoning", "## Limits"):
        assert words in card


def test_options() -> None:
    options = parser().parse_args(["--seed", "3", "--quick", "--html", "a.html"])
    assert (options.seed, options.quick, options.html) == (3, True, Path("a.html"))


@pytest.mark.skipif(not DATA.is_dir(), reason="needs the shared data folder")
def test_the_shipped_model_was_trained_on_this_split_and_keeps_its_accuracy() -> None:
    pytest.importorskip("datasketch", reason="needs the extra 'train'")
    parts = task_split(DATA)
    model = load()
    assert model.card.data_hash == data_hash(parts.train), "train it again"
    found = accuracy(parts.test, chain(model))
    assert found.source_balanced == pytest.approx(
        model.card.metrics["chain_source_balanced"], abs=0.01
    )
