"""Fit step-time profiles: ``python -m hmas.bench.fit PROFILE --data ../shared/data``.

GPU profiles are composed of published kernel timings, plus what the host adds per step, which
is fitted on published end-to-end points. ``cpu-tiny`` is fitted on steps of a real vLLM, as
``bench/measure_vllm.py`` records them. Least squares on the relative error throughout.
``live NAME`` fits a profile of your own engine instead (see ``live --help``).
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from hmas.bench.kernels import (
    KernelDataError,
    KernelTables,
    ModelShape,
    Step,
    StepKernels,
    StepShape,
    read_silicon,
)
from hmas.engine.directive import EngineLimits, StepModel
from hmas.engine.simulator.profile import FitError, Profile

Matrix = npt.NDArray[np.float64]

BLOCK_SIZE: Final = 16
GPU_MEMORY_BYTES: Final = 85_899_345_920
GPU_MEMORY_UTILISATION: Final = 0.9

QWEN3_8B: Final = ModelShape("Qwen/Qwen3-8B", 36, 4096, 32, 8, 12288, 151_936, 8.19e9)
QWEN3_30B_A3B: Final = ModelShape(
    "Qwen/Qwen3-30B-A3B", 48, 2048, 32, 4, 768, 151_936, 30.53e9,
    experts=128, experts_per_token=8,
)  # fmt: skip
QWEN3_32B_TWO_GPUS: Final = ModelShape(
    "Qwen/Qwen3-32B", 64, 5120, 64, 8, 25_600, 151_936, 32.76e9, tensor_parallel=2
)


@dataclass(frozen=True, slots=True)
class GpuTarget:
    """One profile that is composed of kernels.

    ``fewest_decodes`` is the smallest decode batch fitted: below 16 sequences a mixture of
    experts reads only part of its weights, which a linear model cannot follow.
    """

    hardware: str
    hardware_name: str
    version: str
    shape: ModelShape
    max_num_batched_tokens: int
    max_num_seqs: int
    max_model_len: int = 40_960
    fewest_decodes: int = 1


GPU_TARGETS: Final = {
    "a100-qwen3-8b": GpuTarget("a100_sxm", "A100-SXM4-80GB", "0.14.0", QWEN3_8B, 2048, 256),
    "h100-qwen3-30b-a3b": GpuTarget(
        "h100_sxm", "H100-SXM5-80GB", "0.24.0", QWEN3_30B_A3B, 8192, 1024, fewest_decodes=16
    ),
}

LIVE: Final = "live"
"""First argument that fits a profile to a real engine: ``hmas.bench.fit_live``."""

CPU_PROFILE: Final = "cpu-tiny"
MEASURED_STEPS: Final = "cpu_tiny_steps.csv"
CPU_LIMITS: Final = EngineLimits(
    max_num_seqs=64, max_num_batched_tokens=2048, kv_blocks=1024, block_size=32, max_model_len=2048
)


@dataclass(frozen=True, slots=True)
class Fitted:
    """Coefficients and how well they meet the points."""

    model: StepModel
    error: FitError


def relative_least_squares(design: Matrix, target: Matrix, weights: Matrix) -> Matrix:
    """Non-negative coefficients that minimise ``Σ w ((design·x − target) / target)²``.

    A column whose best coefficient is negative is left out (0), largest offender first.
    """
    scale = np.sqrt(weights) / target
    rows, goal = design * scale[:, None], target * scale
    norms = np.linalg.norm(rows, axis=0)
    active = [column for column in range(design.shape[1]) if norms[column] > 0]
    solution = np.zeros(design.shape[1])
    while active:
        part, *_ = np.linalg.lstsq(rows[:, active] / norms[active], goal, rcond=None)
        if part.min() >= 0:
            solution[active] = part / norms[active]
            break
        active.pop(int(part.argmin()))
    return solution


def fit_steps(shapes: Sequence[StepShape], step_ms: Sequence[float]) -> Fitted:
    """The step model through measured or composed steps.

    Steps that only decode weigh, together, as much as all others.
    """
    design = np.array([_columns(shape) for shape in shapes], dtype=np.float64)
    target = np.array(step_ms, dtype=np.float64)
    decode_only = np.array([shape.prefill_tokens == 0 for shape in shapes])
    weights = np.where(decode_only, 1 / max(1, decode_only.sum()), 1 / max(1, (~decode_only).sum()))
    coefficients = relative_least_squares(design, target, weights)
    error = np.abs(design @ coefficients - target) / target
    base, prefill, context, sequence, quadratic = (_rounded(value) for value in coefficients)
    model = StepModel(
        base_ms=base, prefill_ms=prefill, context_ms=context, sequence_ms=sequence,
        prefill_quadratic_ms=quadratic,
    )  # fmt: skip
    return Fitted(model, _error(error))


def _columns(shape: StepShape) -> list[float]:
    return [1.0, *shape, float(shape.prefill_tokens**2)]


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def _error(relative: Matrix) -> FitError:
    median, p90 = (round(float(np.quantile(relative, level)), 4) for level in (0.5, 0.9))
    return FitError(points=len(relative), median=median, p90=p90)


def host_overhead(root: Path) -> tuple[float, float]:
    """Milliseconds per step and per sequence that kernels do not explain.

    Fitted on measured TPOT of Qwen3-32B (bf16, 2 x H100, 1,024-token prompts, vLLM 0.12):
    ``tpot = kernels(decode) + prefills of the others between two tokens + overhead``.
    """
    kernels = StepKernels(KernelTables(root, "h100_sxm", "0.14.0"), QWEN3_32B_TWO_GPUS)
    design, residual, measured = [], [], []
    for row in read_silicon(root):
        if _is_overhead_point(row):
            concurrency, tpot_ms = int(float(row["batch_size"])), float(row["silicon_tpot_ms"])
            prompt, output = int(row["isl"]), int(row["osl"])
            context = _nearest_context(kernels, concurrency, prompt + output // 2)
            decode_ms = kernels.step_ms(Step(decodes=concurrency, decode_context=context))
            prefill_ms = kernels.step_ms(Step(prefill_tokens=prompt))
            design.append([1.0, float(concurrency)])
            residual.append(tpot_ms - decode_ms - (concurrency - 1) * prefill_ms / output)
            measured.append(tpot_ms)
    scale = 1 / np.array(measured)
    rows = np.array(design) * scale[:, None]
    (base, sequence), *_ = np.linalg.lstsq(rows, np.array(residual) * scale, rcond=None)
    return _rounded(float(base)), _rounded(float(sequence))


def _is_overhead_point(row: dict[str, str]) -> bool:
    return (
        (row["backend"], row["system"], row["model_path"]) == ("vllm", "h100_sxm", "Qwen/Qwen3-32B")
        and not row["precision"]
        and float(row["tp_size"]) == 2
        and row["isl"] == "1024"
    )


def _nearest_context(kernels: StepKernels, sequences: int, context: int) -> int:
    known = [tokens for count, tokens in kernels.generation if count == sequences]
    return min(known, key=lambda tokens: abs(tokens - context))


def design_steps(kernels: StepKernels, limits: EngineLimits, fewest_decodes: int) -> list[Step]:
    """Decode batches that fit the KV cache, prompts and chunks, and both in one step."""
    kv_tokens = limits.kv_blocks * limits.block_size
    decodes = [
        Step(decodes=n, decode_context=context)
        for n, context in sorted(kernels.generation)
        if fewest_decodes <= n <= limits.max_num_seqs
        and 64 <= context <= 8192
        and n * context <= kv_tokens
    ]
    budget = limits.max_num_batched_tokens
    chunks = [size for size in (64, 128, 256, 512, 1024, 2048, 4096, 8192) if size <= budget]
    prefills = [
        Step(prefill_tokens=size, prefill_context=context)
        for size in chunks
        for context in (0, 1024, 4096)
    ]
    mixed = [
        Step(size, 0, batch.decodes, batch.decode_context)
        for size in chunks
        for batch in decodes
        if batch.decodes >= 8 and batch.decode_context in (256, 1024, 4096)
        and size + batch.decodes <= budget
    ]  # fmt: skip
    return decodes + prefills + mixed


def gpu_limits(target: GpuTarget) -> EngineLimits:
    """vLLM's start-up limits: the KV cache is what weights leave of 90 % of the memory."""
    spare = GPU_MEMORY_BYTES * GPU_MEMORY_UTILISATION - 2 * target.shape.parameters
    return EngineLimits(
        max_num_seqs=target.max_num_seqs,
        max_num_batched_tokens=target.max_num_batched_tokens,
        kv_blocks=int(spare / (target.shape.kv_bytes_per_token * BLOCK_SIZE)),
        block_size=BLOCK_SIZE,
        max_model_len=target.max_model_len,
    )


def gpu_profile(name: str, root: Path) -> Profile:
    """Raises :class:`KernelDataError` when the published tables are not under ``root``."""
    target = GPU_TARGETS[name]
    tables = KernelTables(root, target.hardware, target.version)
    kernels, limits = StepKernels(tables, target.shape), gpu_limits(target)
    base_ms, sequence_ms = host_overhead(root)
    steps = design_steps(kernels, limits, target.fewest_decodes)
    step_ms = [kernels.step_ms(step) + base_ms + sequence_ms * step.sequences for step in steps]
    fitted = fit_steps([step.shape for step in steps], step_ms)
    return Profile(
        name=name, model=target.shape.name, hardware=target.hardware_name,
        source=f"ai-dynamo/aiconfigurator, {tables.origin} and silicon_sample.csv.gz",
        licence="Apache-2.0",
        notes=_gpu_notes(target, base_ms, sequence_ms),
        command=f"python -m hmas.bench.fit {name} --data ../shared/data",
        step_model=fitted.model, limits=limits, fit=fitted.error,
        kv_bytes_per_token=target.shape.kv_bytes_per_token,
    )  # fmt: skip


def _gpu_notes(target: GpuTarget, base_ms: float, sequence_ms: float) -> str:
    notes = (
        f"vLLM {target.version} kernels in bf16, plus {base_ms} ms per step and"
        f" {sequence_ms} ms per sequence on the host (fitted on Qwen3-32B, 2 x H100)."
        " A chunk's attention to earlier context is the difference of two full prompts."
    )
    if target.fewest_decodes > 1:
        notes += (
            f" Fitted on batches of at least {target.fewest_decodes} sequences: the times of"
            " smaller ones, which read only part of the experts, are too long."
        )
    return notes


def read_steps(path: Path) -> tuple[list[StepShape], list[float]]:
    """Steps that ``bench/measure_vllm.py`` recorded: one time for each shape."""
    shapes, step_ms = [], []
    with path.open(newline="") as rows:
        for row in csv.DictReader(rows):
            shapes.append(StepShape(*(int(row[field]) for field in StepShape._fields)))
            step_ms.append(float(row["step_ms"]))
    return shapes, step_ms


def cpu_profile(path: Path) -> Profile:
    """``cpu-tiny``: the smallest real engine, for tests against a real vLLM without a GPU."""
    fitted = fit_steps(*read_steps(path))
    return Profile(
        name=CPU_PROFILE, model="tiny-random-llama", hardware="one x86-64 core",
        source="own measurement with bench/measure_vllm.py, in bench/cpu_tiny_steps.csv",
        licence="Apache-2.0",
        notes=(
            "vLLM 0.32.0 on a CPU with one OpenMP thread; a random Llama of 0.56 million"
            " parameters (2 layers, hidden 128, bf16). Lower quartiles of CPU time; the HTTP server"
            " and waiting for other processes are not in it."
        ),
        command=f"python -m hmas.bench.fit {CPU_PROFILE} --steps bench/cpu_tiny_steps.csv",
        step_model=fitted.model, limits=CPU_LIMITS, fit=fitted.error, kv_bytes_per_token=512,
    )  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    given = sys.argv[1:] if argv is None else argv
    if given[:1] == [LIVE]:
        from hmas.bench.fit_live import main as fit_live

        return fit_live(given[1:])
    parser = argparse.ArgumentParser(prog="python -m hmas.bench.fit", description=__doc__)
    parser.add_argument("profile", choices=sorted([*GPU_TARGETS, CPU_PROFILE]))
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--steps", type=Path, default=Path(__file__).with_name(MEASURED_STEPS))
    parser.add_argument("--output", type=Path, help="write the profile here instead of printing")
    arguments = parser.parse_args(given)
    try:
        if arguments.profile == CPU_PROFILE:
            profile = cpu_profile(arguments.steps)
        else:
            profile = gpu_profile(arguments.profile, arguments.data / "aiconfigurator")
    except (KernelDataError, OSError) as error:
        print(f"fit: {error}", file=sys.stderr)
        return 1
    _write(profile, arguments.output)
    return 0


def _write(profile: Profile, output: Path | None) -> None:
    encoded = msgspec.json.format(msgspec.json.encode(profile), indent=2) + b"\n"
    if output is None:
        print(encoded.decode(), end="")
    else:
        output.write_bytes(encoded)


if __name__ == "__main__":
    sys.exit(main())
