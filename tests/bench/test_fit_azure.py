from __future__ import annotations

import json
from pathlib import Path

import pytest

from hmas.bench.fit_azure import day_profile, fit, quantile_table
from hmas.bench.generator import FITTED_FILE

AZURE = Path(__file__).parents[3] / "shared" / "data" / "azure"


def test_quantiles_come_from_the_wanted_field() -> None:
    rows = [
        {"service": "conv", "field": "context", "q_pct": str(pct), "tokens": str(pct * 10)}
        for pct in (0.5, 50.0, 100.0)
    ] + [{"service": "code", "field": "context", "q_pct": "50", "tokens": "1"}]
    table = quantile_table(rows, "conv", "context")
    assert table[0] == [0.5, 5.0]
    assert table[-1] == [100, 1000.0]


def test_day_profile_is_relative_to_its_mean_and_leaves_out_weekends() -> None:
    rows = [
        {"time": f"2024-05-13 {hour:02d}:{minute}:00", "rps": "20" if hour >= 12 else "10"}
        for hour in range(24)
        for minute in ("00", "30")
    ] + [{"time": "2024-05-12 00:00:00", "rps": "1000"}]
    profile = day_profile(rows)
    assert profile[0] == pytest.approx(0.667, abs=0.001)
    assert profile[-1] == pytest.approx(1.333, abs=0.001)


def test_shipped_numbers_are_what_the_fit_gives() -> None:
    if not AZURE.exists():
        pytest.skip(f"{AZURE} is not here")
    assert json.loads(FITTED_FILE.read_text()) == json.loads(json.dumps(fit(AZURE)))
