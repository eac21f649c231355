from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hmas.bench.lengths import LengthKnowledge
from hmas.bench.traces import TraceError
from hmas.bench.workload import WorkloadOptions, build_workload


def azure_file(folder: Path, name: str, prompt_tokens: int) -> Path:
    rows = [f"2023-11-16 18:15:{second:02d}.0,{prompt_tokens},20" for second in range(0, 60, 5)]
    path = folder / name
    path.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n" + "\n".join(rows) + "\n")
    return path


def test_two_traces_are_mixed_at_the_wanted_rate(tmp_path: Path) -> None:
    traces = (azure_file(tmp_path, "conv.csv", 100), azure_file(tmp_path, "code.csv", 2000))
    workload = build_workload(WorkloadOptions(traces=traces, rps=5.0, duration_s=4.0))
    prompts = {request.features.prompt_tokens for request in workload.requests}
    assert len(workload.requests) == 20
    assert workload.rps == 5.0
    assert prompts == {100, 2000}
    assert workload.source == "conv.csv + code.csv"


def test_a_trace_alone_keeps_its_pace(tmp_path: Path) -> None:
    workload = build_workload(WorkloadOptions(traces=(azure_file(tmp_path, "a.csv", 10),)))
    assert workload.requests[1].features.arrival_s == 5.0
    assert workload.span_s == 55.0


def test_a_trace_that_is_too_short_starts_again(tmp_path: Path) -> None:
    options = WorkloadOptions(traces=(azure_file(tmp_path, "a.csv", 10),), duration_s=120.0)
    assert len(build_workload(options).requests) == 24


def test_without_traces_the_generator_makes_exactly_the_wanted_rate() -> None:
    workload = build_workload(WorkloadOptions(rps=8.0, duration_s=30.0, seed=2))
    assert len(workload.requests) == 240
    assert "Azure" in workload.source


def test_true_lengths_have_no_error() -> None:
    options = WorkloadOptions(rps=5.0, duration_s=10.0, lengths=LengthKnowledge.TRUE)
    workload = build_workload(options)
    assert workload.length_error == 0
    assert all(r.output_tokens == r.features.predicted_output_tokens for r in workload.requests)


def test_predicted_lengths_are_off_by_the_stated_error() -> None:
    workload = build_workload(WorkloadOptions(rps=20.0, duration_s=30.0))
    assert 0.3 < workload.length_error < 2.0


def test_a_bad_trace_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError):
        build_workload(WorkloadOptions(traces=(tmp_path / "none.csv",)))


def test_a_bad_rate_is_refused() -> None:
    with pytest.raises(ValueError, match="rps"):
        build_workload(WorkloadOptions(rps=-1.0, duration_s=5.0))


@settings(max_examples=25)
@given(st.floats(0.2, 30), st.floats(1, 20), st.integers(0, 1000))
def test_any_generated_workload_is_complete_and_seeded(
    rps: float, duration_s: float, seed: int
) -> None:
    options = WorkloadOptions(rps=rps, duration_s=duration_s, seed=seed)
    workload = build_workload(options)
    arrivals = [request.features.arrival_s for request in workload.requests]
    assert workload == build_workload(options)
    assert arrivals == sorted(arrivals)
    assert len({r.features.request_id for r in workload.requests}) == len(workload.requests)
