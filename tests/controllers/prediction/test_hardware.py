"""GPUs by name."""

from __future__ import annotations

import pytest

from hmas.controllers.prediction.cost_features import EngineShape
from hmas.controllers.prediction.hardware import GPUS, engine_shape
from tests.controllers.prediction.cost_support import A100


def seven_billion(gpu: str, gpus: int = 1) -> EngineShape:
    return engine_shape(gpu, parameters_b=7, layers=32, heads=32, vocabulary=32_000, gpus=gpus)


def test_a_name_stands_for_its_data_sheet() -> None:
    assert seven_billion("A100") == A100
    assert seven_billion("H200", 2).gpus == 2


def test_an_unknown_name_lists_the_known() -> None:
    with pytest.raises(ValueError, match="'B1'; known: T4, V100"):
        seven_billion("B1")


@pytest.mark.parametrize("gpu", GPUS)
def test_numbers_are_in_their_units(gpu: str) -> None:
    known = GPUS[gpu]
    assert 10 < known.memory_gb < 300
    assert 200 < known.bandwidth_gb_s < 10_000
    assert 50 < known.tflops < 3000
