from __future__ import annotations

from pathlib import Path

import pytest

from hmas.bench.corpus_lengths.__main__ import DATA, main, write
from hmas.bench.corpus_lengths.catalogue import SETS, card, load
from hmas.bench.corpus_lengths.sample import (
    MissingSetError,
    Part,
    Sample,
    answered,
    part_in_time,
    part_of,
    text_tokens,
)
from hmas.bench.corpus_lengths.training import examples, train_length_model
from hmas.controllers.prediction.shipped import SHIPPED, read_model
from hmas.engine.features import TaskType

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"the public sets are not in {DATA}")
COUNT_AND_MEAN = {
    "sharegpt_lengths": (10_000, 325.6),
    "azure_conv": (19_366, 211.1),
    "azure_code": (8_819, 27.9),
    "infercept": (2_054, 71.3),
    "claude_code_traces": (46_191, 440.3),
    "proxy_predictions": (85_482, 176.8),
}
"""Rows and mean output tokens of the sets that state tokens, counted apart from the readers."""


@pytest.fixture(scope="module")
def sets() -> dict[str, list[Sample]]:
    return load(DATA)


@needs_data
def test_every_set_is_read(sets: dict[str, list[Sample]]) -> None:
    assert list(sets) == [one.card.name for one in SETS]
    for name, (count, mean) in COUNT_AND_MEAN.items():
        lengths = [sample.output_tokens for sample in sets[name]]
        assert len(lengths) == count
        assert sum(lengths) / count == pytest.approx(mean, rel=0.01)


@needs_data
def test_prompts_and_truths_make_sense(sets: dict[str, list[Sample]]) -> None:
    for name, samples in sets.items():
        assert all(one.output_tokens >= 1 and one.prompt_tokens >= 0 for one in samples), name
        assert {one.source for one in samples} == {name}
        if card(name).has_text:
            assert sum(bool(one.prompt.text) for one in samples) > 0.95 * len(samples), name


@needs_data
def test_parts_are_fixed_and_about_as_large_as_said(sets: dict[str, list[Sample]]) -> None:
    for name, samples in sets.items():
        share = sum(one.part is Part.TEST for one in samples) / len(samples)
        assert 0.2 < share < 0.5, name
    again = load(DATA, proxy=False)
    for name, samples in again.items():
        assert [one.part for one in samples] == [one.part for one in sets[name]]


@needs_data
def test_no_prompt_and_no_session_is_on_two_sides(sets: dict[str, list[Sample]]) -> None:
    text_parts: dict[str, set[Part]] = {}
    session_parts: dict[tuple[str, str], set[Part]] = {}
    for name in ("gsm8k", "routellm_gsm8k", "medquad", "alpaca", "t0_templates"):
        for one in sets[name]:
            text_parts.setdefault(one.prompt.text.strip().lower(), set()).add(one.part)
    for name in ("infercept", "claude_code_traces", "tau_bench"):
        for one in sets[name]:
            session_parts.setdefault((name, one.session or ""), set()).add(one.part)
    assert all(len(parts) == 1 for parts in text_parts.values())
    split = [key for key, parts in session_parts.items() if len(parts) > 1]
    assert not split


@needs_data
def test_time_comes_before_time(sets: dict[str, list[Sample]]) -> None:
    parts = [one.part for one in sets["azure_conv"]]
    assert parts == sorted(parts, key=[Part.TRAIN, Part.WARM, Part.TEST].index)


def test_tokens_of_a_text() -> None:
    assert [text_tokens(text) for text in ("", "a", "abcd", "abcde", "é" * 4)] == [0, 1, 1, 2, 2]


def test_parts_by_hash_and_by_time() -> None:
    assert part_of("Hello ") is part_of("hello")
    assert part_in_time(0, 10) is Part.TRAIN
    assert part_in_time(6, 10) is Part.WARM
    assert part_in_time(9, 10) is Part.TEST


def test_an_answered_prompt_is_tagged_by_the_rules() -> None:
    sample = answered("made up", "Translate to German: good morning", "Guten Morgen")
    assert sample.task_type is TaskType.TRANSLATION
    assert (sample.prompt_tokens, sample.output_tokens) == (9, 3)
    assert sample.question("r1").request_id == "r1"


def test_every_card_says_whose_and_how() -> None:
    for one in SETS:
        made = one.card
        assert made.source
        assert made.licence
        assert made.split
        assert made.tokens
    with pytest.raises(KeyError):
        card("no such set")


def test_training_leaves_warm_rows_out() -> None:
    made = [answered("made up", f"prompt {number}", "answer") for number in range(100)]
    chosen = examples([made])
    assert len(chosen) == sum(one.part is not Part.WARM for one in made) < 100
    assert sum(one.held_out for one in chosen) == sum(one.part is Part.TEST for one in made)


def test_without_data_there_is_nothing_to_train_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert load(tmp_path) == {}
    with pytest.raises(MissingSetError):
        train_length_model(tmp_path)
    assert main(["--data", str(tmp_path), "--out", str(tmp_path / "m.model")]) == 1
    assert "none of the sets" in capsys.readouterr().err


def test_the_card_names_every_set_of_the_model(tmp_path: Path) -> None:
    write(tmp_path / "length.model", SHIPPED.read_bytes())
    made = (tmp_path / "length.md").read_text()
    assert made == SHIPPED.with_suffix(".md").read_text(), "write the card again"
    for name in read_model().record.metrics:
        assert f"| {name} |" in made
        assert card(name).licence in made
