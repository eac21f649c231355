import os
from pathlib import Path

import msgspec
import numpy as np
import pytest

from hmas.bench.fit import (
    CPU_PROFILE,
    GPU_TARGETS,
    cpu_profile,
    fit_steps,
    gpu_profile,
    host_overhead,
    main,
    relative_least_squares,
)
from hmas.bench.kernels import KernelDataError, StepShape
from hmas.engine.directive import StepModel
from hmas.engine.simulator.profile import load_profile

REPOSITORY = Path(__file__).parents[2]
STEPS = REPOSITORY / "bench" / "cpu_tiny_steps.csv"
DATA = Path(os.environ.get("HMAS_TEST_DATA", REPOSITORY.parent / "shared" / "data"))

needs_data = pytest.mark.skipif(
    not (DATA / "aiconfigurator").is_dir(),
    reason=f"published kernel timings are not at {DATA}/aiconfigurator",
)


def test_fit_recovers_known_coefficients():
    truth = StepModel(base_ms=5.0, prefill_ms=0.03, context_ms=1e-4, sequence_ms=0.07)
    random = np.random.default_rng(7)
    shapes = [
        StepShape(int(p), int(c), int(n))
        for p, c, n in zip(
            [0] * 40 + list(random.integers(16, 2048, 40)),
            random.integers(100, 100_000, 80),
            random.integers(1, 256, 80),
            strict=True,
        )
    ]
    fitted = fit_steps(shapes, [truth.step_ms(*shape) for shape in shapes])
    assert fitted.error.p90 < 1e-3
    assert fitted.model.base_ms == pytest.approx(5.0, rel=1e-3)
    assert fitted.model.context_ms == pytest.approx(1e-4, rel=1e-3)


def test_coefficients_are_never_negative():
    design = np.array([[1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
    falling = np.array([3.0, 2.0, 1.0])
    solution = relative_least_squares(design, falling, np.ones(3))
    assert solution.min() >= 0
    assert solution[1] == 0


def test_cpu_profile_is_what_the_recorded_steps_give():
    assert cpu_profile(STEPS) == load_profile(CPU_PROFILE)


@needs_data
@pytest.mark.parametrize("name", sorted(GPU_TARGETS))
def test_gpu_profiles_are_reproducible(name):
    pytest.importorskip("pyarrow", reason="the published tables are parquet files")
    assert gpu_profile(name, DATA / "aiconfigurator") == load_profile(name)


@needs_data
def test_host_overhead_is_a_few_milliseconds():
    pytest.importorskip("pyarrow", reason="the published tables are parquet files")
    base_ms, sequence_ms = host_overhead(DATA / "aiconfigurator")
    assert 0 < base_ms < 5
    assert 0 < sequence_ms < 0.2


def test_missing_tables_are_named(tmp_path):
    with pytest.raises(KernelDataError, match=r"\.parquet is missing"):
        gpu_profile("a100-qwen3-8b", tmp_path)


def test_command_writes_the_profile(tmp_path):
    output = tmp_path / "profile.json"
    assert main([CPU_PROFILE, "--steps", str(STEPS), "--output", str(output)]) == 0
    assert msgspec.json.decode(output.read_bytes())["name"] == CPU_PROFILE


def test_command_prints_the_profile(capsys):
    assert main([CPU_PROFILE, "--steps", str(STEPS)]) == 0
    assert '"base_ms"' in capsys.readouterr().out


def test_command_fails_with_one_line(tmp_path, capsys):
    assert main(["a100-qwen3-8b", "--data", str(tmp_path)]) == 1
    assert "is missing" in capsys.readouterr().err
