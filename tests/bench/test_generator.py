from __future__ import annotations

import numpy as np
import pytest

from hmas.bench.generator import AzureLike, fitted, generate, sample_tokens


def test_same_seed_same_requests() -> None:
    wanted = AzureLike(rps=10, duration_s=60, seed=4)
    assert generate(wanted) == generate(wanted)
    assert generate(wanted) != generate(AzureLike(rps=10, duration_s=60, seed=5))


def test_mean_rate_and_burstiness() -> None:
    requests = generate(AzureLike(rps=20, duration_s=4000, seed=1, services=("conv",)))
    arrivals = np.asarray([request.arrival_s for request in requests])
    assert len(requests) / 4000 == pytest.approx(20, rel=0.05)
    gaps = np.diff(arrivals)
    assert gaps.std() / gaps.mean() == pytest.approx(2.29, rel=0.08)
    assert arrivals.min() >= 0
    assert arrivals.max() < 4000
    assert (gaps >= 0).all()


def test_peaks_are_close_to_the_published_ones() -> None:
    requests = generate(AzureLike(rps=45.15, duration_s=10_000, seed=1, services=("conv",)))
    per_second = np.bincount([int(request.arrival_s) for request in requests])
    assert 100 < per_second.max() < 220


@pytest.mark.parametrize(
    ("service", "prompt_p50", "prompt_p99", "output_p50", "output_p99"),
    [("conv", 928, 6683, 41, 694), ("code", 1930, 7685, 8, 271)],
)
def test_length_quantiles_match_the_published_ones(
    service: str, prompt_p50: int, prompt_p99: int, output_p50: int, output_p99: int
) -> None:
    requests = generate(AzureLike(rps=50, duration_s=1000, seed=2, services=(service,)))
    prompts = [request.prompt_tokens for request in requests]
    outputs = [request.output_tokens for request in requests]
    assert np.percentile(prompts, 50) == pytest.approx(prompt_p50, rel=0.1)
    assert np.percentile(prompts, 99) == pytest.approx(prompt_p99, rel=0.1)
    assert np.percentile(outputs, 50) == pytest.approx(output_p50, rel=0.15)
    assert np.percentile(outputs, 99) == pytest.approx(output_p99, rel=0.15)


def test_the_services_keep_their_shares() -> None:
    requests = generate(AzureLike(rps=50, duration_s=2000, seed=3))
    conv = sum(request.source == "azure-conv" for request in requests) / len(requests)
    assert conv == pytest.approx(45.146 / (45.146 + 27.784), rel=0.05)


def test_lengths_are_at_least_one_token() -> None:
    drawn = sample_tokens([(0, 0.1), (100, 3.0)], 1000, np.random.default_rng(0))
    assert drawn.min() >= 1


def test_unknown_service_is_named() -> None:
    with pytest.raises(ValueError, match=r"mail.*conv, code"):
        generate(AzureLike(rps=1, duration_s=1, services=("mail",)))


def test_shipped_numbers_name_source_and_licence() -> None:
    assert "Azure" in fitted().source
    assert fitted().licence == "CC-BY-4.0"
