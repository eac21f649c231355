"""The outcome of a virtual replay as one flat JSON object; same run, same bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from hmas.bench.control import ControlSpec
from hmas.bench.metrics import RequestResult, Summary, Window

DIGITS = 6


@dataclass(frozen=True, slots=True)
class Switch:
    """One change of what orders the engine's queue."""

    at_s: float
    topology: str
    bypass: bool
    owner: str
    reason: str


@dataclass(frozen=True, slots=True)
class ControlCounts:
    """What the control loop did.

    ``swaps`` counts rebuilt orders in the engine, ``rollbacks`` failed guard windows,
    ``bypasses`` entries into bypass, ``nacks`` refused directives.
    """

    swaps: int = 0
    rollbacks: int = 0
    bypasses: int = 0
    directives: int = 0
    nacks: int = 0


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """Everything a replay found.

    ``lost`` counts requests that the engine took and neither finished nor still holds: it must
    be 0. ``refused`` ones do not fit the model's context and count as failures.
    """

    summary: Summary
    lost: int
    refused: int
    counts: ControlCounts
    control: ControlSpec
    profile: str
    trace: str
    lengths: str
    length_error: float
    rps: float
    seed: int
    results: tuple[RequestResult, ...] = ()
    switches: tuple[Switch, ...] = ()
    series: tuple[Window, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Plain data, floats rounded, keys in a fixed order."""
        summary = self.summary
        flat: dict[str, object] = {
            "requests": summary.requests,
            "completed": summary.completed,
            "lost": self.lost,
            "refused": self.refused,
            "duration_s": summary.duration_s,
            "goodput_rate": summary.goodput_rate,
            "ttft_compliance": summary.ttft_compliance,
            "tpot_compliance": summary.tpot_compliance,
            "esg_per_s": summary.esg_per_s,
            "goodput_rps": summary.goodput_rps,
            "throughput_rps": summary.throughput_rps,
            "output_tokens_per_s": summary.output_tokens_per_s,
            **_quantile_keys("ttft", summary.ttft_ms),
            **_quantile_keys("tpot", summary.tpot_ms),
            **_quantile_keys("e2e", summary.e2e_ms),
            "preemptions": summary.preemptions,
            **asdict(self.counts),
            "seed": self.seed,
            "profile": self.profile,
            "control": str(self.control),
            "trace": self.trace,
            "rps": self.rps,
            "lengths": self.lengths,
            "length_error": self.length_error,
            "switches": [asdict(switch) for switch in self.switches],
        }
        if self.series:
            flat["series"] = [asdict(window) for window in self.series]
        return {key: _rounded(value) for key, value in flat.items()}

    def to_json(self) -> str:
        """One line."""
        return json.dumps(self.as_dict(), allow_nan=False)


def _quantile_keys(name: str, quantiles_ms: Mapping[int, float]) -> dict[str, float]:
    return {f"{name}_p{percent}_ms": value for percent, value in quantiles_ms.items()}


def _rounded(value: object) -> object:
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, Mapping):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_rounded(item) for item in value]
    return value
