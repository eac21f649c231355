"""Annotation of a trace as in the paper's E.5: task type, importance, SLO pair, tenant.

A trace tells lengths only. The task type is drawn from the posterior of a mixture over the
thirteen types of Table 6, each with a share and typical prompt and output lengths (log-normal);
requests of a code service are ten times as likely to be code. Importance is uniform in
[0.5, 1.0], the SLO pair follows from Table 6 and Eq. 14. Tenants have Zipf shares and weights
by tier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hmas.bench.traces import TraceRequest
from hmas.controllers.perception.slo import slo_targets
from hmas.engine.features import RequestFeatures, TaskType, length_bucket

Floats = NDArray[np.float64]

LOG_SPREAD: Final = 1.0
CODE_FACTOR: Final = 10.0
TENANTS: Final = 8
TIER_WEIGHTS: Final = (4.0, 2.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class TaskShape:
    """Share of a task type, and the medians of its prompt and output tokens."""

    task: TaskType
    share: float
    prompt_tokens: float
    output_tokens: float


SHAPES: Final = (
    TaskShape(TaskType.QA, 0.18, 500, 60),
    TaskShape(TaskType.DIALOGUE, 0.22, 900, 120),
    TaskShape(TaskType.TRANSLATION, 0.05, 350, 250),
    TaskShape(TaskType.EXTRACTION, 0.06, 1500, 40),
    TaskShape(TaskType.PARAPHRASING, 0.04, 300, 200),
    TaskShape(TaskType.CODE_GENERATION, 0.15, 1800, 60),
    TaskShape(TaskType.INSTRUCTION_FOLLOWING, 0.10, 600, 200),
    TaskShape(TaskType.SUMMARIZATION, 0.08, 3000, 180),
    TaskShape(TaskType.LETTER_DRAFTING, 0.03, 300, 300),
    TaskShape(TaskType.MATH_REASONING, 0.04, 250, 400),
    TaskShape(TaskType.ESSAY_GENERATION, 0.02, 250, 650),
    TaskShape(TaskType.LONG_FORM_GENERATION, 0.02, 500, 900),
    TaskShape(TaskType.RESEARCH_AND_COMMUNICATION, 0.01, 2500, 800),
)


@dataclass(frozen=True, slots=True)
class WorkloadRequest:
    """One request to replay: what the scheduler is told, and the true output length."""

    features: RequestFeatures
    output_tokens: int
    block_hashes: tuple[int, ...] = ()


def annotate(
    requests: Sequence[TraceRequest],
    known_output_tokens: Sequence[int],
    seed: int,
    *,
    tasks: Sequence[TaskType] | None = None,
    by_source: bool = False,
) -> list[WorkloadRequest]:
    """Requests with features; same trace and seed, same annotation.

    ``known_output_tokens`` is what the scheduler is told of each request's length. The task
    type is drawn from true lengths: it is a property of the request, not a prediction; a
    workload that knows its ``tasks`` says so. ``by_source`` makes each source a tenant.
    """
    random = np.random.default_rng([seed, 2])
    tasks = sample_tasks(requests, random) if tasks is None else tasks
    importance = random.uniform(0.5, 1.0, len(requests)).round(3)
    tenants = _numbered_sources(requests) if by_source else _drawn_tenants(len(requests), random)
    return [
        WorkloadRequest(
            _features(
                index=index,
                request=request,
                known_output_tokens=known,
                task=tasks[index],
                importance=float(importance[index]),
                tenant=tenant,
            ),
            request.output_tokens,
            request.block_hashes,
        )
        for index, (request, known, tenant) in enumerate(
            zip(requests, known_output_tokens, tenants, strict=True)
        )
    ]


def _features(
    *,
    index: int,
    request: TraceRequest,
    known_output_tokens: int,
    task: TaskType,
    importance: float,
    tenant: int,
) -> RequestFeatures:
    targets = slo_targets(task, importance)
    return RequestFeatures(
        request_id=f"r{index:06d}",
        arrival_s=request.arrival_s,
        tenant=f"tenant-{tenant}",
        tenant_weight=TIER_WEIGHTS[tenant % len(TIER_WEIGHTS)],
        task_type=task,
        importance=importance,
        slo_ttft_ms=targets.ttft_ms,
        slo_tpot_ms=targets.tpot_ms,
        prompt_tokens=request.prompt_tokens,
        predicted_output_tokens=known_output_tokens,
        length_bucket=length_bucket(request.prompt_tokens),
        known=True,
    )


def _numbered_sources(requests: Sequence[TraceRequest]) -> list[int]:
    numbers = {name: at for at, name in enumerate(sorted({r.source for r in requests}))}
    return [numbers[request.source] for request in requests]


def _drawn_tenants(count: int, random: np.random.Generator) -> list[int]:
    return [int(tenant) for tenant in random.choice(TENANTS, size=count, p=tenant_shares())]


def tenant_shares() -> Floats:
    """Zipf shares, the first tenant the largest."""
    shares: Floats = 1.0 / np.arange(1, TENANTS + 1)
    shares /= shares.sum()
    return shares


def sample_tasks(requests: Sequence[TraceRequest], random: np.random.Generator) -> list[TaskType]:
    """One task type per request, drawn from the mixture's posterior given its lengths."""
    posterior = task_posterior(requests)
    drawn = random.uniform(size=(len(requests), 1))
    chosen = (posterior.cumsum(axis=1) < drawn).sum(axis=1)
    return [SHAPES[min(int(index), len(SHAPES) - 1)].task for index in chosen]


def task_posterior(requests: Sequence[TraceRequest]) -> Floats:
    """Probability of each task type (columns, in the order of ``SHAPES``) per request."""
    lengths = [[max(1, r.prompt_tokens), max(1, r.output_tokens)] for r in requests]
    medians = [[shape.prompt_tokens, shape.output_tokens] for shape in SHAPES]
    distance = (np.log(lengths)[:, None, :] - np.log(medians)[None, :, :]) / LOG_SPREAD
    weight: Floats = np.exp(-0.5 * (distance**2).sum(axis=2))
    weight *= np.asarray([shape.share for shape in SHAPES])
    is_code = np.asarray([shape.task is TaskType.CODE_GENERATION for shape in SHAPES])
    from_code = np.asarray(["code" in request.source.lower() for request in requests])
    weight[np.ix_(from_code, is_code)] *= CODE_FACTOR
    weight /= weight.sum(axis=1, keepdims=True)
    return weight
