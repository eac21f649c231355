from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.bench.slo import SHAPES, annotate, sample_tasks, task_posterior, tenant_shares
from hmas.bench.traces import TraceRequest
from hmas.controllers.perception.slo import BASE_SLO
from hmas.engine.features import RequestFeatures, TaskType, decode_features, encode_features

lengths = st.tuples(st.integers(0, 200_000), st.integers(0, 20_000))


def copies(prompt_tokens: int, output_tokens: int, count: int, source: str) -> list[TraceRequest]:
    return [TraceRequest(float(i), prompt_tokens, output_tokens, source) for i in range(count)]


def test_shapes_cover_table_6() -> None:
    assert {shape.task for shape in SHAPES} == set(BASE_SLO)
    assert sum(shape.share for shape in SHAPES) == pytest.approx(1.0)


def test_lengths_decide_the_likely_task() -> None:
    random = np.random.default_rng(0)
    brief = Counter(sample_tasks(copies(500, 30, 2000, "conv"), random))
    lengthy = Counter(sample_tasks(copies(500, 1500, 2000, "conv"), random))
    code = Counter(sample_tasks(copies(2000, 15, 2000, "azure-code"), random))
    assert brief[TaskType.QA] > brief[TaskType.LONG_FORM_GENERATION] * 10
    assert lengthy[TaskType.LONG_FORM_GENERATION] > lengthy[TaskType.QA]
    assert code[TaskType.CODE_GENERATION] > 1400


def test_slo_pair_follows_table_6_and_importance() -> None:
    for request in annotate(copies(900, 120, 500, "conv"), [120] * 500, seed=1):
        features = request.features
        base = BASE_SLO[features.task_type]
        factor = 1.2 - 0.8 * (features.importance - 0.5)
        assert 0.5 <= features.importance <= 1.0
        assert features.slo_ttft_ms == pytest.approx(base.ttft_ms * factor, abs=1.0)
        assert features.slo_tpot_ms == pytest.approx(base.tpot_ms * factor, abs=1.0)


def test_the_scheduler_is_told_the_known_length_not_the_truth() -> None:
    (request,) = annotate([TraceRequest(1.5, 100, 50, "conv")], [80], seed=1)
    assert request.output_tokens == 50
    assert request.features.predicted_output_tokens == 80
    assert request.features.arrival_s == 1.5


def test_known_lengths_do_not_change_the_annotation() -> None:
    requests = copies(900, 120, 50, "conv")
    first = annotate(requests, [120] * 50, seed=1)
    second = annotate(requests, [7] * 50, seed=1)

    def told(features: RequestFeatures) -> tuple[object, ...]:
        return (features.task_type, features.importance, features.tenant, features.slo_ttft_ms)

    assert [told(r.features) for r in first] == [told(r.features) for r in second]


def test_tenants_have_zipf_shares() -> None:
    drawn = Counter(
        r.features.tenant for r in annotate(copies(900, 120, 5000, "conv"), [1] * 5000, seed=1)
    )
    assert drawn["tenant-0"] / 5000 == pytest.approx(tenant_shares()[0], abs=0.03)


@given(st.lists(lengths, min_size=1, max_size=30), st.integers(0, 2**32))
def test_annotation_is_seeded_and_travels(pairs: list[tuple[int, int]], seed: int) -> None:
    requests = [TraceRequest(float(i), p, o, "t") for i, (p, o) in enumerate(pairs)]
    known = [max(1, output) for _, output in pairs]
    first = annotate(requests, known, seed)
    assert first == annotate(requests, known, seed)
    assert np.allclose(task_posterior(requests).sum(axis=1), 1.0)
    for request in first:
        assert decode_features(encode_features(request.features)) == request.features


def test_a_workload_may_name_its_tasks_and_tenants() -> None:
    requests = [*copies(900, 120, 3, "beta"), *copies(900, 120, 2, "alpha")]
    tasks = [TaskType.QA, *[TaskType.DIALOGUE] * 4]
    annotated = annotate(requests, [120] * 5, seed=1, tasks=tasks, by_source=True)
    assert [request.features.task_type for request in annotated] == tasks
    tenants = [request.features.tenant for request in annotated]
    assert tenants == ["tenant-1"] * 3 + ["tenant-0"] * 2
