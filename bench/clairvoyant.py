"""An upper bound on goodput: what nobody can beat, who knows all arrivals and lengths.

The bound is a relaxation of the simulator's own step model, in two moves.

**Work of a request.** A step with P prompt tokens, S sequences and C context tokens lasts
``b + a·P + e·P² + d·S + c·C`` (``StepModel``). Split the fixed part b into three shares
``θ_p + θ_s + θ_c = 1``. With at most B tokens in a step, ``θ_p·b + a·P + e·P² ≥ w·P`` for
``w = a + min_{0 < P ≤ B} (θ_p·b / P + e·P)``; with at most N sequences, ``θ_s·b ≥ (θ_s·b/N)·S``;
with K tokens of KV cache, ``θ_c·b ≥ (θ_c·b/K)·C``. So a step lasts at least as long as the sum
of what its requests contribute, each at constant prices per prompt token, sequence and context
token, and a request of p prompt and l output tokens takes at least

    work = w·p + (d + θ_s·b/N)·l + (c + θ_c·b/K)·(p + Σ_{k=1}^{l-1} (p + k))

of engine time, however it is batched, chunked, ordered or preempted (preemption only adds).

**Time.** A request that meets both targets has all its steps between its arrival and
``arrival + SLO_ttft + (l - 1)·SLO_tpot``, and its prompt computed by ``arrival + SLO_ttft``.
Steps do not overlap, so for every interval the work of the requests whose windows lie inside
it cannot exceed its length. Among all fractions ``x_r`` of requests that respect this, the
largest sum is found exactly: the feasible amounts of work form a polymatroid (one preemptive
machine with releases and deadlines), for which taking the smallest requests first, each as far
as it fits, is optimal. Windows are widened to whole slots, which only raises the bound.

Any split θ is valid, so the smallest result of a few is taken, also over prompts alone with
their own, tighter deadline. A request that misses its targets on an idle engine counts 0.

Not covered: engines that share prompt prefixes, and budgets above ``max_step_tokens``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hmas.bench.slo import WorkloadRequest
from hmas.engine.simulator.profile import Profile

Floats = NDArray[np.float64]

MAX_STEP_TOKENS: Final = 16_384
SLOTS: Final = 200
SPLITS: Final = (
    (1.0, 0.0, 0.0),
    (0.75, 0.0, 0.25),
    (0.5, 0.0, 0.5),
    (0.2, 0.0, 0.8),
)
"""Shares of the step's fixed time that prompts, sequences and context pay."""


@dataclass(frozen=True, slots=True)
class Bound:
    """No system can bring more than ``requests`` of ``total`` within both targets."""

    requests: int
    total: int

    @property
    def goodput_rate(self) -> float:
        return self.requests / self.total if self.total else 0.0


@dataclass(frozen=True, slots=True)
class _Requests:
    """Columns of a workload; times in seconds, lengths in tokens as the engine will see them."""

    arrival_s: Floats
    ttft_s: Floats
    tpot_s: Floats
    prompt: Floats
    output: Floats
    served: NDArray[np.bool_]

    @property
    def attended(self) -> Floats:
        """Context tokens over all steps of a request, one chunk for the prompt."""
        return self.prompt * self.output + self.output * (self.output - 1) / 2


def upper_bound(
    workload: Sequence[WorkloadRequest], profile: Profile, max_step_tokens: int = MAX_STEP_TOKENS
) -> Bound:
    """See the module. ``max_step_tokens`` is the largest budget of any system compared."""
    if not workload:
        return Bound(0, 0)
    requests = _columns(workload, profile)
    possible = _possible(requests, profile, max_step_tokens)
    latest_s = requests.arrival_s + requests.ttft_s + (requests.output - 1) * requests.tpot_s
    prompts_s = _prompt_work_s(requests, profile, 1.0, max_step_tokens)
    first_s = requests.arrival_s + requests.ttft_s
    sums = [_most(requests.arrival_s, first_s, prompts_s, possible)]
    for split in SPLITS:
        work_s = _work_s(requests, profile, split, max_step_tokens)
        sums.append(_most(requests.arrival_s, latest_s, work_s, possible))
    return Bound(math.floor(min(sums) + 1e-6), len(workload))


def _columns(workload: Sequence[WorkloadRequest], profile: Profile) -> _Requests:
    longest = profile.limits.max_model_len
    features = [request.features for request in workload]
    prompt = np.asarray([one.prompt_tokens for one in features], dtype=float)
    output = np.asarray([request.output_tokens for request in workload], dtype=float)
    return _Requests(
        arrival_s=np.asarray([one.arrival_s for one in features]),
        ttft_s=np.asarray([one.slo_ttft_ms for one in features]) / 1000,
        tpot_s=np.asarray([one.slo_tpot_ms for one in features]) / 1000,
        prompt=prompt,
        output=np.minimum(output, longest - prompt),
        served=(prompt >= 1) & (prompt < longest) & (output >= 1),
    )


def token_price_ms(profile: Profile, share: float, max_step_tokens: int) -> float:
    """Least time per prompt token when prompts pay ``share`` of the step's fixed time."""
    model = profile.step_model
    fixed_ms, square = share * model.base_ms, model.prefill_quadratic_ms
    best = math.sqrt(fixed_ms / square) if square > 0 else math.inf
    tokens = min(max(best, 1.0), max_step_tokens)
    return model.prefill_ms + fixed_ms / tokens + square * tokens


def _prompt_work_s(
    requests: _Requests, profile: Profile, share: float, max_step_tokens: int
) -> Floats:
    """Least engine time until the first token."""
    model = profile.step_model
    price_ms = token_price_ms(profile, share, max_step_tokens) + model.context_ms
    work_s: Floats = (requests.prompt * price_ms + model.sequence_ms) / 1000
    return work_s


def _work_s(
    requests: _Requests,
    profile: Profile,
    split: tuple[float, float, float],
    max_step_tokens: int,
) -> Floats:
    """Least engine time of a whole request."""
    model, limits = profile.step_model, profile.limits
    for_prompts, for_sequences, for_context = split
    per_token_ms = token_price_ms(profile, for_prompts, max_step_tokens)
    per_sequence_ms = model.sequence_ms + for_sequences * model.base_ms / limits.max_num_seqs
    kv_tokens = limits.kv_blocks * limits.block_size
    per_context_ms = model.context_ms + for_context * model.base_ms / kv_tokens
    work_s: Floats = (
        per_token_ms * requests.prompt
        + per_sequence_ms * requests.output
        + per_context_ms * requests.attended
    ) / 1000
    return work_s


def _possible(requests: _Requests, profile: Profile, max_step_tokens: int) -> NDArray[np.bool_]:
    """Who meets both targets on an engine of its own, at the least."""
    model = profile.step_model
    first_s = _prompt_work_s(requests, profile, 1.0, max_step_tokens)
    decodes = requests.output - 1
    attended = decodes * requests.prompt + requests.output * decodes / 2
    decoding_s = (
        decodes * (model.base_ms + model.sequence_ms) + model.context_ms * attended
    ) / 1000
    slack = 1 + 1e-9
    possible: NDArray[np.bool_] = (
        requests.served
        & (first_s <= requests.ttft_s * slack)
        & (decoding_s <= decodes * requests.tpot_s * slack)
    )
    return possible


def _most(
    arrival_s: Floats, latest_s: Floats, work_s: Floats, possible: NDArray[np.bool_]
) -> float:
    """Largest sum of fractions of requests that one machine can serve within their windows."""
    if not possible.any():
        return 0.0
    slot_s = float(latest_s[possible].max()) / SLOTS
    begin = np.floor(arrival_s / slot_s).astype(int).clip(0, SLOTS - 1)
    end = np.ceil(latest_s / slot_s - 1e-9).astype(int).clip(1, SLOTS)
    # spare[s, t]: engine time of the slots s up to but not including t + 1, minus what is given
    # to requests whose windows lie inside.
    spare = (np.arange(1, SLOTS + 1)[None, :] - np.arange(SLOTS)[:, None]) * slot_s
    total = 0.0
    for index in np.argsort(work_s, kind="stable"):
        if not possible[index]:
            continue
        around = spare[: begin[index] + 1, end[index] - 1 :]
        given_s = min(float(work_s[index]), max(0.0, float(around.min())))
        around -= given_s
        total += given_s / float(work_s[index])
    return total
