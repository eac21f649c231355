"""Record step times of a real vLLM on this machine: runs inside the vLLM environment.

    OMP_NUM_THREADS=1 .venv-vllm/bin/python -m hmas.bench.measure_vllm --output steps.csv

Builds a tiny random Llama, drives vLLM's engine in this process with batches of known shape,
and writes one row per shape: the lower quartile of its steps' milliseconds.
``hmas.bench.fit`` reads it. The engine runs in one thread, so its CPU time is its time; a busy
neighbour on the same core can only add to it, which is why it is not the median.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

ENVIRONMENT: Final = {
    "OMP_NUM_THREADS": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "WARNING",
    "HF_HUB_OFFLINE": "1",
}

TINY_LLAMA: Final = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "bfloat16",
    "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "vocab_size": 1024,
    "max_position_embeddings": 2048, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
    "tie_word_embeddings": False, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip

CONTEXT_BUCKET: Final = 64
"""Decode steps whose contexts per sequence fall into one bucket are one shape."""

SHAPES: Final = [
    (sequences, prompt)
    for sequences in (1, 2, 4, 8, 16, 32, 64)
    for prompt in (32, 128, 512, 1024)
    if sequences * prompt <= 24_576
]
OUTPUT_TOKENS: Final = 24


class StepShape(NamedTuple):
    """What one step held; ``context_tokens`` counts all scheduled sequences."""

    prefill_tokens: int
    context_tokens: int
    sequences: int


class StepRecorder:
    """Wraps one scheduler: shape from ``schedule()``, time until ``update_from_output()`` ends."""

    def __init__(self, scheduler: Any) -> None:
        self.samples: dict[StepShape, list[float]] = defaultdict(list)
        self._scheduler = scheduler
        self._shape: StepShape | None = None
        self._started_s = 0.0
        self._schedule: Callable[..., Any] = scheduler.schedule
        self._update: Callable[..., Any] = scheduler.update_from_output
        scheduler.schedule = self.schedule
        scheduler.update_from_output = self.update_from_output

    def schedule(self, *arguments: Any, **options: Any) -> Any:
        self._started_s = time.process_time()
        computed = {key: held.num_computed_tokens for key, held in self._scheduler.requests.items()}
        output = self._schedule(*arguments, **options)
        self._shape = self._shape_of(output.num_scheduled_tokens, computed)
        return output

    def update_from_output(self, *arguments: Any, **options: Any) -> Any:
        result = self._update(*arguments, **options)
        if self._shape is not None:
            milliseconds = (time.process_time() - self._started_s) * 1000
            self.samples[self._shape].append(milliseconds)
        return result

    def _shape_of(self, scheduled: dict[str, int], computed: dict[str, int]) -> StepShape | None:
        if not scheduled:
            return None
        prefill = context = 0
        for request_id, tokens in scheduled.items():
            before = computed[request_id]
            prompt = self._scheduler.requests[request_id].num_prompt_tokens
            prefill += tokens if before < prompt else 0
            context += before + tokens
        sequences = len(scheduled)
        if not prefill:
            per_sequence = CONTEXT_BUCKET * round(context / sequences / CONTEXT_BUCKET)
            context = sequences * max(CONTEXT_BUCKET, per_sequence)
        return StepShape(prefill, context, sequences)


def measure(repeats: int, kv_blocks: int) -> dict[StepShape, list[float]]:
    """Samples in milliseconds by shape; imports vLLM."""
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "config.json").write_text(json.dumps(TINY_LLAMA))
        engine = _engine(directory, kv_blocks)
        recorder = StepRecorder(engine.engine_core.engine_core.scheduler)
        for warm_up in (True, *[False] * repeats):
            if warm_up:
                recorder.samples.clear()
            for index, (sequences, prompt) in enumerate(SHAPES):
                _run_batch(engine, f"{index}", sequences, prompt)
            if warm_up:
                recorder.samples.clear()
    return recorder.samples


def _engine(model: str, kv_blocks: int) -> Any:
    from vllm import EngineArgs
    from vllm.v1.engine.llm_engine import LLMEngine

    return LLMEngine.from_engine_args(
        EngineArgs(
            model=model, skip_tokenizer_init=True, load_format="dummy", enforce_eager=True,
            max_model_len=2048, block_size=32, num_gpu_blocks_override=kv_blocks,
            max_num_seqs=64, max_num_batched_tokens=2048, enable_prefix_caching=False,
        )
    )  # fmt: skip


def _run_batch(engine: Any, name: str, sequences: int, prompt: int) -> None:
    from vllm import SamplingParams

    sampling = SamplingParams(
        temperature=0.0, max_tokens=OUTPUT_TOKENS, ignore_eos=True, detokenize=False
    )
    for index in range(sequences):
        tokens = [3 + (index * 31 + position) % 1000 for position in range(prompt)]
        engine.add_request(f"{name}-{index}", {"prompt_token_ids": tokens}, sampling)
    while engine.has_unfinished_requests():
        engine.step()


def rows(samples: dict[StepShape, list[float]], fewest: int) -> Iterator[dict[str, object]]:
    """Lower quartiles of shapes seen at least ``fewest`` (two) times, in a stable order."""
    for shape, milliseconds in sorted(samples.items()):
        if len(milliseconds) >= fewest:
            quartile = round(statistics.quantiles(milliseconds, n=4)[0], 4)
            yield {**shape._asdict(), "step_ms": quartile, "samples": len(milliseconds)}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--kv-blocks", type=int, default=1025)
    arguments = parser.parse_args(argv)
    os.environ.update(ENVIRONMENT)
    samples = measure(arguments.repeats, arguments.kv_blocks)
    with arguments.output.open("w", newline="") as output:
        writer = csv.DictWriter(output, [*StepShape._fields, "step_ms", "samples"])
        writer.writeheader()
        writer.writerows(rows(samples, fewest=max(2, arguments.repeats - 1)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
