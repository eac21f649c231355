import numpy as np
import pytest

from hmas.bench.kernels import Curve, KernelDataError, ModelShape, Step, read_silicon

QWEN = ModelShape("qwen", 36, 4096, 32, 8, 12288, 151_936, 8.19e9)


def test_kv_bytes_count_keys_and_values_of_all_layers():
    assert QWEN.kv_bytes_per_token == 147_456


def test_step_counts_the_chunk_with_its_context():
    step = Step(prefill_tokens=100, prefill_context=50, decodes=4, decode_context=10)
    assert step.shape == (100, 190, 5)
    assert Step(decodes=4, decode_context=10).shape == (0, 40, 4)


def test_curve_interpolates_and_grows_in_proportion_beyond_its_end():
    curve = Curve(np.array([1.0, 3.0]), np.array([1.0, 2.0]))
    assert curve.at(2) == pytest.approx(1.5)
    assert curve.at(6) == pytest.approx(4.0)


def test_missing_measurements_are_named(tmp_path):
    with pytest.raises(KernelDataError, match="silicon_sample"):
        read_silicon(tmp_path)
