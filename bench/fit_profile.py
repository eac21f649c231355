"""A profile out of a recorded run of a real vLLM: step model, and the costs around the engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hmas.bench.fit import relative_least_squares
from hmas.bench.fit_recorder import StepLog
from hmas.bench.kernels import StepShape
from hmas.engine.directive import StepModel
from hmas.engine.simulator.profile import FitError, Frontend

REWEIGHTINGS = 4
FEWEST_IDLE = 10


@dataclass(frozen=True, slots=True)
class SeenByClient:
    """One request at its client: monotonic seconds, as in the step log."""

    name: str
    due_s: float
    first_s: float
    prompt_tokens: int


def fit_mean_steps(
    shapes: Sequence[StepShape], step_ms: Sequence[float]
) -> tuple[StepModel, FitError]:
    """The step model whose sums over many steps meet the measured sums.

    Noise only ever makes a step longer. Errors relative to the measured time would trust lucky
    steps most and come out too fast, so errors are relative to the model's own time instead.

    Raises:
        ValueError: fewer steps than coefficients.
    """
    if len(shapes) < 5:
        raise ValueError(f"{len(shapes)} recorded steps are too few for five coefficients")
    design = np.array([[1.0, *shape, shape.prefill_tokens**2] for shape in shapes], np.float64)
    target = np.array(step_ms, np.float64)
    expected = np.full(len(target), float(np.median(target)))
    for _ in range(REWEIGHTINGS):
        coefficients = relative_least_squares(design, target, (target / expected) ** 2)
        expected = np.maximum(design @ coefficients, 1e-3)
    error = np.abs(expected - target) / target
    base, prefill, context, sequence, quadratic = (float(f"{c:.4g}") for c in coefficients)
    model = StepModel(
        base_ms=base, prefill_ms=prefill, context_ms=context, sequence_ms=sequence,
        prefill_quadratic_ms=quadratic,
    )  # fmt: skip
    median, p90 = (round(float(np.quantile(error, level)), 4) for level in (0.5, 0.9))
    return model, FitError(points=len(target), median=median, p90=p90)


def fit_frontend(log: StepLog, seen: Sequence[SeenByClient]) -> Frontend:
    """Client to engine by prompt length, and engine to client.

    vLLM takes new requests between two steps, so a busy engine's delay is mostly the rest of a
    step, which the simulator has too. Only requests that found the engine idle tell of the rest;
    with fewer than ``FEWEST_IDLE`` of them the fastest tenth of all does.

    Raises:
        ValueError: no request is in both records.
    """
    known = [(one, times) for one in seen if (times := log.requests.get(one.name)) is not None]
    idle = [(one, times) for one, times in known if log.idle(one.due_s, times.added_s)]
    if len(idle) < FEWEST_IDLE:
        fastest = sorted(known, key=lambda pair: pair[1].added_s - pair[0].due_s)
        idle = fastest[: max(1, len(known) // 10)]
    into = [(1000 * (times.added_s - one.due_s), one.prompt_tokens) for one, times in idle]
    out = [1000 * (one.first_s - t.first_s) for one, t in known if t.first_s is not None]
    if not into or not out:
        raise ValueError("no request is both in the step log and seen by the client")
    request, token = _line([float(tokens) for _, tokens in into], [delay for delay, _ in into])
    return Frontend(
        request_ms=round(request, 4),
        prompt_token_ms=round(token, 6),
        output_ms=round(max(0.0, float(np.median(out))), 4),
    )


def _line(tokens: Sequence[float], delays_ms: Sequence[float]) -> tuple[float, float]:
    """Height and slope, neither negative, by medians: a stalled request must not count."""
    x, y = np.array(tokens), np.array(delays_ms)
    apart = x[:, None] - x[None, :]
    slopes = (y[:, None] - y[None, :])[apart > 0] / apart[apart > 0]
    slope = max(0.0, float(np.median(slopes))) if len(slopes) else 0.0
    return max(0.0, float(np.median(y - slope * x))), slope
