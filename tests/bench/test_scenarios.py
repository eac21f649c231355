"""What all scenarios share, and where their numbers come from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hmas.bench.lengths import LengthKnowledge
from hmas.bench.scenarios.azure import TRACES, WEEK_RATES, rotated, week_rates
from hmas.bench.scenarios.base import FALLBACK_NOTE, Ask
from hmas.bench.scenarios.catalogue import SCENARIOS, shortened, slice_at
from hmas.bench.scenarios.fitting import table
from hmas.bench.scenarios.pool import length_pool
from hmas.bench.scenarios.statistics import statistics
from hmas.bench.scenarios.tenants import tenants
from hmas.bench.traces import TraceRequest

DATA = Path(__file__).parents[2].parent / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.exists(), reason="the data folder is not at hand")


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_scenario_is_annotated_and_reproducible(name: str) -> None:
    short = shortened(SCENARIOS[name], 20 / SCENARIOS[name].duration_s)
    first, second = (short.workload(3, None) for _ in range(2))
    assert first == second
    assert first.requests
    assert first.span_s == pytest.approx(20)
    for request in first.requests:
        features = request.features
        assert features.slo_ttft_ms > features.slo_tpot_ms > 0
        assert 0 <= features.arrival_s <= 20
        assert request.output_tokens >= 1


@pytest.mark.parametrize("name", ["near", "week", "stress", "fast"])
def test_without_the_data_folder_the_source_says_so(name: str) -> None:
    short = shortened(SCENARIOS[name], 0.02)
    assert FALLBACK_NOTE in short.workload(0, None).source
    assert FALLBACK_NOTE in short.workload(0, Path("/nowhere")).source


@needs_data
@pytest.mark.parametrize("name", ["near", "week", "stress", "fast"])
def test_with_the_data_folder_measured_traffic_is_replayed(name: str) -> None:
    workload = shortened(SCENARIOS[name], 0.02).workload(0, DATA)
    assert FALLBACK_NOTE not in workload.source


def test_an_oracle_knows_the_same_requests_without_error() -> None:
    short = shortened(SCENARIOS["near"], 0.05)
    predicted = short.workload(0, None)
    true = short.workload(0, None, lengths=LengthKnowledge.TRUE)
    assert true.length_error == 0 < predicted.length_error
    assert [r.output_tokens for r in true.requests] == [r.output_tokens for r in predicted.requests]


def test_seeds_replay_different_pieces_of_a_trace() -> None:
    trace = [TraceRequest(float(at), at + 1, 1) for at in range(100)]
    assert rotated(trace, 0) == trace
    turned = rotated(trace, 1)
    assert turned[0].prompt_tokens == 62
    assert sorted(request.prompt_tokens for request in turned) == list(range(1, 101))
    times = [request.arrival_s for request in turned]
    assert times == sorted(times)
    assert times[0] == 0


def test_a_week_has_seven_days() -> None:
    rates, source = week_rates(None)
    assert len(rates) % 7 == 0
    assert FALLBACK_NOTE in source


def test_tenants_keep_their_shares_and_burstiness() -> None:
    made = tenants(100.0)(Ask(0, 600.0, None))
    assert made.by_source
    pool = statistics().servegen
    total = sum(client.mean_rps for client in pool.tenants)
    for client in pool.tenants:
        times = [r.arrival_s for r in made.requests if r.source == f"client-{client.client:03d}"]
        if client.cv < 3:
            assert len(times) / 60_000 == pytest.approx(client.mean_rps / total, rel=0.3)
    variations = {client.cv for client in pool.tenants}
    assert min(variations) < 1
    assert max(variations) > 5


def test_tenants_are_told_apart_by_the_scheduler() -> None:
    workload = SCENARIOS["servegen"].workload(0, None)
    assert len({request.features.tenant for request in workload.requests}) == 12


def test_the_fitted_pool_has_short_chats_and_long_code() -> None:
    pool = length_pool(None)
    assert np.median(pool.chat[:, 0]) < 100 < np.median(pool.code[:, 0])
    assert np.median(pool.chat[:, 1]) > 100 > np.median(pool.code[:, 1])


def test_a_table_has_the_quantiles() -> None:
    pairs = table(list(range(101)))
    assert [50, 50.0] in pairs
    assert [100, 100.0] in pairs
    assert [0, 1.0] in pairs


def test_a_slice_of_another_name_is_refused() -> None:
    with pytest.raises(KeyError):
        slice_at("glacial", 1.0)


@needs_data
def test_the_names_of_the_data_files_are_right() -> None:
    assert all((DATA / "azure" / name).exists() for name in (*TRACES, WEEK_RATES))
