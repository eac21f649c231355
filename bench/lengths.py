"""What the scheduler is told about output lengths: the truth, or a prediction with an error.

The error model is that of a real predictor (``length_error.json``): in the logarithm,

    predicted = centre + shrinkage · (true − centre) + sigma · z,   z ~ N(0, 1)

with ``centre`` the mean of log(true) over the requests of one trace and prompt-length bucket,
which a predictor in service would have learned. Short answers are therefore over-predicted and
long ones under-predicted, and a typical prediction is off by a factor of two.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from enum import StrEnum
from functools import cache
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from hmas.bench.traces import TraceRequest
from hmas.engine.features import length_bucket

ERROR_FILE = Path(__file__).with_name("length_error.json")


class LengthKnowledge(StrEnum):
    """Whether the scheduler sees true output lengths (an oracle) or predicted ones."""

    TRUE = "true"
    PREDICTED = "predicted"


class LengthError(msgspec.Struct, frozen=True):
    """Coefficients of the error model above; unit: natural logarithm of tokens."""

    shrinkage: float
    sigma: float
    source: str
    licence: str


@cache
def fitted_error() -> LengthError:
    return msgspec.json.decode(ERROR_FILE.read_bytes(), type=LengthError)


def known_lengths(
    requests: Sequence[TraceRequest], knowledge: LengthKnowledge, seed: int
) -> list[int]:
    """Output tokens of each request as the scheduler knows them, at least one."""
    if knowledge is LengthKnowledge.TRUE:
        return [request.output_tokens for request in requests]
    error = fitted_error()
    true = np.log([max(1, request.output_tokens) for request in requests])
    centre = _centres(requests, true)
    noise = np.random.default_rng([seed, 1]).standard_normal(len(requests))
    predicted = np.exp(centre + error.shrinkage * (true - centre) + error.sigma * noise)
    return [max(1, round(float(tokens))) for tokens in predicted]


def describe(knowledge: LengthKnowledge) -> str:
    """The error model in one line, for reports."""
    if knowledge is LengthKnowledge.TRUE:
        return "true output lengths (oracle)"
    error = fitted_error()
    return (
        f"predicted: log-normal error, sigma {error.sigma}, shrunk by {error.shrinkage} towards "
        "the mean of the trace's prompt-length bucket"
    )


def mean_relative_error(requests: Sequence[TraceRequest], known: Sequence[int]) -> float:
    """Mean of |predicted − true| / true, as the reports state it."""
    errors = [
        abs(tokens - request.output_tokens) / max(1, request.output_tokens)
        for request, tokens in zip(requests, known, strict=True)
    ]
    return sum(errors) / len(errors) if errors else 0.0


def _centres(requests: Sequence[TraceRequest], true: NDArray[np.float64]) -> NDArray[np.float64]:
    groups: dict[tuple[str, int], list[int]] = defaultdict(list)
    for index, request in enumerate(requests):
        groups[request.source, length_bucket(request.prompt_tokens)].append(index)
    centres = np.empty(len(requests))
    for members in groups.values():
        centres[members] = true[members].mean()
    return centres
