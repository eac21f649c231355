from __future__ import annotations

import pytest

from hmas.controllers.prediction.length_training import (
    TooFewExamplesError,
    data_hash,
    fit_length_model,
)
from tests.controllers.prediction.length_support import small_file, traffic


def test_same_examples_and_seed_same_bytes() -> None:
    assert fit_length_model(traffic(400), seed=0, licence="none")[0] == small_file()
    assert fit_length_model(traffic(400), seed=1, licence="none")[0] != small_file()


def test_the_report_is_of_rows_held_out() -> None:
    examples = traffic(400)
    _, report = fit_length_model(examples, seed=0)
    assert report["made up"]["rows"] == sum(one.held_out for one in examples)
    assert report["made up"]["mae_tokens"] < 80


def test_without_tool_calls_half_is_assumed() -> None:
    from hmas.controllers.prediction.length_model import decode_model

    model = decode_model(fit_length_model(traffic(200, tools=False), seed=0)[0])
    assert model.tool_probability(0.3) == 0.5


def test_too_few_examples() -> None:
    with pytest.raises(TooFewExamplesError, match="at least 50"):
        fit_length_model(traffic(20), seed=0)


def test_the_hash_names_rows_and_split() -> None:
    examples = traffic(100)
    assert data_hash(examples) == data_hash(traffic(100))
    assert data_hash(examples) != data_hash(examples[1:])
