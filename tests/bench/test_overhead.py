"""The benchmark of the plug-in's cost runs, and the cost is small, on a real vLLM."""

from __future__ import annotations

import pytest

from tests.system.vllm.environment import run_program

pytestmark = pytest.mark.vllm

NOISE = 0.15
"""A loaded machine may blur the ratio by this much; `make bench-overhead` measures it well."""


def test_the_plug_in_costs_little_with_thousands_waiting() -> None:
    arguments = ["--steps", "400", "--waiting", "1000", "5000", "--json"]
    result = run_program("-m", "hmas.bench.overhead", *arguments)
    assert result["command"].endswith(" ".join(arguments))
    assert result["machine"]
    assert result["date"]
    rows = result["rows"]
    assert [row["waiting"] for row in rows] == [1000] * 4 + [5000] * 4
    for row in rows:
        assert row["schedule_us_p50"] > 0
        assert row["schedule_ratio"] <= result["target_ratio"] + NOISE, row
