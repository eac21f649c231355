"""Fit a step model to request timestamps alone, where nobody recorded the steps.

Each request gives two equations: the steps between its arrival and its first token, and those
between its first and its last token, take as long as was measured. Which steps these are, the
simulator tells; with the coefficients so found it tells anew, until both agree.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from hmas.bench.fidelity_run import Asked, Timing, simulate
from hmas.bench.fit import relative_least_squares
from hmas.engine.directive import StepModel
from hmas.engine.events import Event, StepStats
from hmas.engine.simulator.profile import Profile

Vector = npt.NDArray[np.float64]

ROUNDS: Final = 16
DAMPING: Final = 0.5
SHORTEST_S: Final = 1e-3


class StepSums:
    """Sums of the step model's columns since the start, at the end of every step."""

    def __init__(self) -> None:
        self._ends_s = [0.0]
        self._sums = [np.zeros(6)]

    def observe(self, event: Event) -> None:
        """Needs one ``StepStats`` per step."""
        if isinstance(event, StepStats) and event.steps:
            idle_s = event.at_s - event.busy_s - self._ends_s[-1]
            prefill = float(event.prefill_tokens)
            columns = (1.0, prefill, event.context_tokens, event.sequences, prefill**2)
            self._add(event.at_s - event.busy_s, (0.0, 0.0, 0.0, 0.0, 0.0, max(0.0, idle_s)))
            self._add(event.at_s, (*columns, 0.0))

    def _add(self, at_s: float, columns: Sequence[float]) -> None:
        self._ends_s.append(at_s)
        self._sums.append(self._sums[-1] + np.asarray(columns))

    def between(self, from_s: Vector, to_s: Vector) -> npt.NDArray[np.float64]:
        """One row for each pair of times; part of a step counts in proportion.

        The columns are those of the step model, and idle seconds.
        """
        ends_s, sums = np.asarray(self._ends_s), np.asarray(self._sums)
        columns = [
            np.interp(to_s, ends_s, column) - np.interp(from_s, ends_s, column) for column in sums.T
        ]
        return np.stack(columns, axis=1)


def fit_requests(
    requests: Sequence[Asked],
    measured: Mapping[str, Timing],
    known: Collection[str],
    profile: Profile,
) -> Profile:
    """``profile`` with a step model fitted to the timings of the ``known`` requests.

    All ``requests`` are simulated, since they share steps; only timings of known ones are read.
    """
    chosen = [request for request in requests if request.name in known]
    coefficients = _first_guess(chosen, measured)
    for _ in range(ROUNDS):
        fitted = _with(profile, coefficients)
        design, target_ms = _equations(requests, chosen, measured, fitted)
        solved = relative_least_squares(design, target_ms, np.ones(len(target_ms)))
        coefficients = (1 - DAMPING) * coefficients + DAMPING * solved
    return _with(profile, coefficients)


def _first_guess(chosen: Sequence[Asked], measured: Mapping[str, Timing]) -> Vector:
    """Half of the median gap per step, and of the fastest prompts per token."""
    tpot_ms = float(np.median([1000 * measured[request.name].tpot_s for request in chosen]))
    first_ms = [1000 * measured[r.name].first_s / r.prompt_tokens for r in chosen]
    return np.array([tpot_ms / 2, float(np.quantile(first_ms, 0.1)) / 2, 0.0, 0.0, 0.0])


def _with(profile: Profile, coefficients: Vector) -> Profile:
    base, prefill, context, sequence, quadratic = (float(f"{c:.4g}") for c in coefficients)
    model = StepModel(
        base_ms=base, prefill_ms=prefill, context_ms=context, sequence_ms=sequence,
        prefill_quadratic_ms=quadratic,
    )  # fmt: skip
    return msgspec.structs.replace(profile, step_model=model)


def _equations(
    requests: Sequence[Asked],
    chosen: Sequence[Asked],
    measured: Mapping[str, Timing],
    profile: Profile,
) -> tuple[npt.NDArray[np.float64], Vector]:
    """Rows of step sums, and the milliseconds that they took."""
    sums = StepSums()
    simulated = simulate(requests, profile, sums.observe)
    arrival_s = np.array([request.arrival_s for request in chosen])
    first_s = arrival_s + [simulated[request.name].first_s for request in chosen]
    last_s = arrival_s + [simulated[request.name].last_s for request in chosen]
    waiting, decoding = sums.between(arrival_s, first_s), sums.between(first_s, last_s)
    real = [measured[request.name] for request in chosen]
    first_ms = np.array([timing.first_s for timing in real]) - waiting[:, 5]
    decode_ms = np.array([timing.last_s - timing.first_s for timing in real])
    design = np.concatenate([waiting, decoding])[:, :5]
    target = np.maximum(np.concatenate([first_ms, decode_ms]), SHORTEST_S) * 1000
    return design, target
