"""A workload like Azure's, generated from published statistics: no trace file is needed.

Lengths come from the quantile tables of each service, arrivals from a Gamma renewal process
(shape 0.19, so a coefficient of variation of 2.3) over the rate of an average weekday. Prompt
and output length are independent, as they are in the published 2023 trace (Spearman 0.07 in
conv, -0.02 in code).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from hmas.bench.arrivals import mix, require_positive
from hmas.bench.traces import TraceRequest

Floats = NDArray[np.float64]
FITTED_FILE = Path(__file__).with_name("azure_2024.json")


class Service(msgspec.Struct, frozen=True):
    """Fitted numbers of one service; quantile tables hold (percent, tokens)."""

    mean_rps: float
    prompt_tokens: list[tuple[float, float]]
    output_tokens: list[tuple[float, float]]
    day_profile: list[float]


class FittedWorkload(msgspec.Struct, frozen=True):
    source: str
    licence: str
    fitted_by: str
    arrival_shape: float
    services: dict[str, Service]


@dataclass(frozen=True, slots=True)
class AzureLike:
    """What to generate.

    ``rps`` is the mean rate over all services together (their published shares are kept); one
    weekday of the published rate curve is squeezed into ``duration_s``.
    """

    rps: float
    duration_s: float
    seed: int = 0
    services: tuple[str, ...] = ("conv", "code")


@cache
def fitted() -> FittedWorkload:
    return msgspec.json.decode(FITTED_FILE.read_bytes(), type=FittedWorkload)


def generate(wanted: AzureLike) -> list[TraceRequest]:
    """Requests within ``[0, duration_s)`` in order of arrival; same seed, same requests."""
    require_positive("rps", wanted.rps)
    require_positive("duration", wanted.duration_s)
    numbers = fitted()
    unknown = [name for name in wanted.services if name not in numbers.services]
    if unknown or not wanted.services:
        known = ", ".join(numbers.services)
        raise ValueError(f"services {', '.join(unknown) or '(none)'}: choose among {known}")
    chosen = {name: numbers.services[name] for name in wanted.services}
    total_rps = sum(service.mean_rps for service in chosen.values())
    generators = np.random.default_rng(wanted.seed).spawn(len(chosen))
    return mix(
        [
            _generate_service(
                f"azure-{name}",
                service,
                wanted.rps * service.mean_rps / total_rps,
                wanted.duration_s,
                random,
            )
            for (name, service), random in zip(chosen.items(), generators, strict=True)
        ]
    )


def _generate_service(
    source: str, service: Service, rps: float, duration_s: float, random: np.random.Generator
) -> list[TraceRequest]:
    shape = fitted().arrival_shape
    arrivals = arrival_times(service.day_profile, rps, duration_s, shape, random)
    prompts = sample_tokens(service.prompt_tokens, len(arrivals), random)
    outputs = sample_tokens(service.output_tokens, len(arrivals), random)
    return [
        TraceRequest(float(arrival_s), int(prompt), int(output), source)
        for arrival_s, prompt, output in zip(arrivals, prompts, outputs, strict=True)
    ]


def arrival_times(
    profile: Sequence[float],
    rps: float,
    duration_s: float,
    shape: float,
    random: np.random.Generator,
) -> Floats:
    """A Gamma renewal process of unit rate, mapped through the inverse of the expected count."""
    slots = np.asarray(profile) / np.mean(profile)
    edges_s = np.linspace(0.0, duration_s, len(slots) + 1)
    expected = np.concatenate([[0.0], np.cumsum(slots)]) * rps * duration_s / len(slots)
    counted = _renewals(float(expected[-1]), shape, random)
    return np.interp(counted, expected, edges_s)


def _renewals(total: float, shape: float, random: np.random.Generator) -> Floats:
    """Renewal times in ``[0, total)`` with gaps of mean one, started in the stationary state."""
    times = np.empty(0)
    last = -float(random.uniform(0.0, 4.0 / shape))
    while last < total:
        gaps = random.gamma(shape, 1.0 / shape, size=max(64, int(total)))
        times = np.concatenate([times, last + np.cumsum(gaps)])
        last = float(times[-1])
    kept: Floats = times[(times >= 0) & (times < total)]
    return kept


def sample_tokens(
    table: Sequence[tuple[float, float]], count: int, random: np.random.Generator
) -> NDArray[np.int64]:
    """Inverse transform of a quantile table, linear in the logarithm of the length."""
    percents, tokens = np.asarray(table).T
    drawn = np.interp(random.uniform(0.0, 100.0, count), percents, np.log(tokens))
    rounded: NDArray[np.int64] = np.rint(np.exp(drawn)).astype(np.int64)
    return rounded.clip(min=1)
