"""The benchmark of the plug-in's cost measures every variant, on a real vLLM."""

from __future__ import annotations

import pytest

from tests.system.vllm.environment import run_program

pytestmark = pytest.mark.vllm


def test_every_variant_is_measured_against_stock() -> None:
    arguments = ["--steps", "200", "--waiting", "1000", "5000", "--json"]
    result = run_program("-m", "hmas.bench.overhead", *arguments)
    assert result["command"].endswith(" ".join(arguments))
    assert result["machine"]
    assert result["date"]
    rows = result["rows"]
    assert [row["waiting"] for row in rows] == [1000] * 4 + [5000] * 4
    for stock, *variants in (rows[:4], rows[4:]):
        assert stock["schedule_ratio"] == 1
        for row in variants:
            ratio = row["schedule_us_p50"] / stock["schedule_us_p50"]
            assert row["schedule_ratio"] == pytest.approx(ratio, abs=0.01)
