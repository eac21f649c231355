"""Three published runs of a real vLLM 0.19 against the simulator.

Source: casys-kaist/LLMServingSim (MIT), ``bench/examples``: 300 ShareGPT requests at 10 per
second, with the arrival, first-token and last-token time of each. The step model is fitted on
every other block of requests and tested on the blocks between, so that both parts see all
loads of a run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hmas.bench.fidelity_run import Asked, Timing, simulate
from hmas.bench.fidelity_table import Comparison, compare, figures
from hmas.bench.fit_requests import fit_requests
from hmas.engine.directive import EngineLimits, StepModel
from hmas.engine.simulator.profile import Profile

BLOCK: Final = 25
MEMORY_BLOCKS: Final = 33_000
"""Not published for two runs; 16-token blocks that 90 % of 96 GB leave. Never used up there."""


@dataclass(frozen=True, slots=True)
class PublishedRun:
    """One run, and what its ``meta.json`` says of the engine.

    Data-parallel ranks that share their experts step together, so they are simulated as one
    engine with the sum of their limits.
    """

    path: str
    max_num_seqs: int
    ranks: int = 1
    kv_blocks: int = MEMORY_BLOCKS
    max_model_len: int = 131_072
    prefix_caching: bool = False

    @property
    def limits(self) -> EngineLimits:
        return EngineLimits(
            max_num_seqs=self.ranks * self.max_num_seqs,
            max_num_batched_tokens=self.ranks * 2048,
            kv_blocks=self.ranks * self.kv_blocks,
            block_size=16,
            max_model_len=self.max_model_len,
        )

    def profile(self) -> Profile:
        """Without a step model of its own yet."""
        return Profile(
            name=self.path.lower().replace("/", "-"), model=self.path.partition("/")[2],
            hardware=self.path.partition("/")[0], source="casys-kaist/LLMServingSim", licence="MIT",
            notes="", command="python -m hmas.bench.fidelity --only published",
            step_model=StepModel(base_ms=1.0, prefill_ms=0.0, context_ms=0.0, sequence_ms=0.0),
            limits=self.limits, kv_bytes_per_token=1, prefix_caching=self.prefix_caching,
            async_scheduling=True,
        )  # fmt: skip


RUNS: Final = (
    PublishedRun("RTXPRO6000/Llama-3.1-8B", 128),
    PublishedRun(
        "RTX4090/Llama-3.1-8B", 256, kv_blocks=2587, max_model_len=32_768, prefix_caching=True
    ),
    PublishedRun("RTXPRO6000/Qwen3-30B-A3B-Instruct-2507", 128, ranks=2),
)


def read_run(path: Path) -> tuple[list[Asked], Mapping[str, Timing]]:
    """Requests in order of arrival, and their timings.

    Arrivals are in wall time and the rest in monotonic time: the request that reached the queue
    fastest is taken to have needed no time for it. Raises OSError, ValueError or KeyError.
    """
    text = (path / "vllm" / "requests.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    offset_s = min(row["queued_ts"] - row["arrival_time"] for row in rows)
    start_s = min(row["arrival_time"] for row in rows) + offset_s
    requests, timings = [], {}
    for row in sorted(rows, key=lambda row: float(row["arrival_time"])):
        name, arrival_s = str(row["request_id"]), row["arrival_time"] + offset_s
        first_s, last_s = row["first_token_ts"] - arrival_s, row["last_token_ts"] - arrival_s
        requests.append(Asked(name, arrival_s - start_s, row["input_toks"], row["output_toks"]))
        timings[name] = Timing(first_s, last_s, row["output_toks"])
    return requests, timings


def compare_run(run: PublishedRun, examples: Path) -> Comparison:
    """Fit on part of one run, test on the rest."""
    requests, measured = read_run(examples / run.path)
    fit_on = {r.name for place, r in enumerate(requests) if place // BLOCK % 2 == 0}
    fitted = fit_requests(requests, measured, fit_on, run.profile())
    simulated = simulate(requests, fitted)
    held_out = [request.name for request in requests if request.name not in fit_on]
    model = fitted.step_model
    return Comparison(
        title=f"published run {run.path}, vLLM 0.19",
        detail=(
            f"fit on {len(fit_on)}, tested on {len(held_out)} requests; step"
            f" {model.base_ms:g} + {model.prefill_ms:g}·prefill + {model.context_ms:g}·context"
            f" + {model.sequence_ms:g}·sequences + {model.prefill_quadratic_ms:g}·prefill² ms"
        ),
        rows=compare(
            [figures(measured[name] for name in held_out)],
            figures(simulated[name] for name in held_out),
        ),
    )


def compare_published(data: Path, say: Callable[[str], None]) -> list[Comparison]:
    """All runs that are there; says so when they are not."""
    examples = data / "llmservingsim" / "bench" / "examples"
    if not examples.is_dir():
        say(f"skipped: no published runs at {examples} (see --data)")
        return []
    compared = []
    for run in RUNS:
        say(f"published run {run.path}: fit and test")
        compared.append(compare_run(run, examples))
    return compared
