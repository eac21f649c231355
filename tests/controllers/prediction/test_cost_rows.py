"""LLM-Pilot as rows: joined with its hardware and models, what was in flight rebuilt."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hmas.controllers.prediction.cost_features import FEATURES
from hmas.controllers.prediction.cost_rows import CostRows, read_rows
from tests.controllers.prediction.pilot_support import write_pilot


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> CostRows:
    data = tmp_path_factory.mktemp("data")
    write_pilot(data)
    return read_rows(data)


def column(rows: CostRows, name: str) -> list[float]:
    values: list[float] = rows.features[:, FEATURES.index(name)].tolist()
    return values


def test_every_request_is_a_row_of_its_case_and_pair(rows: CostRows) -> None:
    assert rows.features.shape == (8 * 60, len(FEATURES))
    assert (rows.cases.max(), rows.pairs.max()) == (7, 3)
    assert np.isfinite(rows.features).all()


def test_targets_are_as_defined(rows: CostRows) -> None:
    latency, output = rows.raw["latency_ms"], rows.raw["n_output_tokens"]
    assert np.allclose(rows.targets["latency_per_token_ms"], latency / output)
    assert np.allclose(rows.targets["throughput_tokens_s"], output / latency * 1000)
    assert np.isnan(rows.targets["tpot_ms"]).tolist() == (output < 2).tolist()


def test_one_user_never_finds_anything_in_flight(rows: CostRows) -> None:
    alone = rows.raw["num_users"] == 1
    found = np.array(column(rows, "in_flight"))
    assert found[alone].max() == 0
    assert found[~alone].max() == 3


def test_what_is_in_flight_is_counted_as_one_by_one(rows: CostRows) -> None:
    of_case = np.flatnonzero(rows.cases == rows.cases[-1])
    start = rows.raw["start_timestamp"][of_case]
    end = start + rows.raw["latency_ms"][of_case]
    first = start + 5 + rows.raw["ttft_ms"][of_case]
    tokens = rows.raw["n_input_tokens"][of_case]
    for place, at in zip(of_case, start, strict=True):
        held, waits = (start < at) & (end > at), (start < at) & (first > at)
        expected = (held.sum(), waits.sum(), tokens[held].sum(), tokens[waits].sum())
        names = ("in_flight", "prefilling", "in_flight_tokens", "prefilling_tokens")
        assert tuple(column(rows, name)[place] for name in names) == expected


def test_the_rate_with_sparsity_is_not_believed(rows: CostRows) -> None:
    assert set(column(rows, "tflops")) == {312.0, 989.5}


def test_an_absent_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="llm_pilot"):
        read_rows(tmp_path)
