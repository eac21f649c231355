"""The table of R2: what is held out, what is compared, what is said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hmas.bench.corpus_costs import Table
from hmas.bench.prediction.costs import RANDOM, UNSEEN, Plan, Trial, run, trials
from hmas.controllers.prediction.cost_rows import read_rows
from hmas.controllers.prediction.cost_training import Recipe
from tests.controllers.prediction.pilot_support import write_pilot

QUICK = Recipe(trees=60, depth=4, learning_rate=0.3, max_rows=5000)
DATA = Path(__file__).resolve().parents[3].parent / "shared" / "data"


def table(pairs: int) -> Table:
    """A law of the first feature; the second one only names the pair."""
    chance = np.random.default_rng(2)
    rows = 6000
    pair = chance.integers(0, pairs, rows)
    features = np.column_stack((chance.random(rows), pair)).astype(np.float32)
    factor = np.random.default_rng(9).random(pairs) * 5
    law = np.exp(features[:, 0].astype(np.float64)) + factor[pair]
    return Table(features, {"throughput": law}, pair)


def trial(split: str, known: Table) -> Trial:
    return Trial(known, "throughput", split, "a law", QUICK, seed=0)


def test_a_law_is_found_where_its_pairs_were_seen() -> None:
    said: list[str] = []
    row = run(trial(RANDOM, table(10)), said.append)
    assert isinstance(row["r2"], float)
    assert row["r2"] > 0.98
    assert row["paper_r2"] == 0.9418
    assert len(said) == 1


def test_what_only_the_pair_tells_is_not_known_of_unseen_ones() -> None:
    row = run(trial(UNSEEN, table(10)), lambda _: None)
    assert isinstance(row["r2"], float)
    assert row["r2"] < 0.9
    assert row["rows"] == 6000
    assert row["paper_r2"] is None


def test_every_target_is_tried_on_both_splits(tmp_path: Path) -> None:
    write_pilot(tmp_path)
    planned = list(trials(read_rows(tmp_path), Plan(0, QUICK, QUICK, QUICK)))
    assert len(planned) == 2 * (4 + 5) + 4
    assert len({(one.target, one.split, one.definition) for one in planned}) == len(planned)


@pytest.mark.skipif(not (DATA / "llm_pilot").is_dir(), reason=f"{DATA}/llm_pilot is absent")
def test_real_throughput_of_cases_is_known() -> None:
    first = next(trials(read_rows(DATA), Plan(0)))
    row = run(first, lambda _: None)
    assert isinstance(row["r2"], float)
    assert (row["target"], row["rows"]) == ("throughput", 526)
    assert row["r2"] > 0.93
