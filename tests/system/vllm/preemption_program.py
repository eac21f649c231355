"""A real model under ``srtf``: who yields gives the same tokens as who runs through.

Runs inside the vLLM environment, with the folder of the tiny model and ``step`` or ``ahead``
(asynchronous scheduling) as its arguments. Prints one JSON object.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"

from vllm import EngineArgs, LLMEngine, SamplingParams

from hmas.engine.clock import SystemClock
from hmas.engine.directive import Controls, Directive
from hmas.engine.features import XARGS_KEY, RequestFeatures, encode_features

SLOTS = 2
LONG, SHORT = 160, 8
HINTS = {"min_run_s": 0.0, "hysteresis": 2.0, "max_preemptions": 3.0}


def parameters(name: str, output_tokens: int) -> SamplingParams:
    features = RequestFeatures(
        request_id=name,
        arrival_s=SystemClock().now_s(),
        slo_ttft_ms=600_000.0,
        slo_tpot_ms=10_000.0,
        predicted_output_tokens=output_tokens,
        predicted_ttft_ms=1.0,
        predicted_tpot_ms=10.0,
        known=True,
    )
    return SamplingParams(
        temperature=0.0,
        max_tokens=output_tokens,
        ignore_eos=True,
        extra_args={XARGS_KEY: encode_features(features)},
    )


def add(engine: Any, name: str, output_tokens: int) -> None:
    prompt = [6 + (sum(name.encode()) * 7 + at * 13) % 1000 for at in range(40)]
    engine.add_request(name, {"prompt_token_ids": prompt}, parameters(name, output_tokens))


def outputs(engine: Any, shorts: int) -> dict[str, list[int]]:
    """Long requests take every slot; short ones, at least ``shorts``, follow while they run."""
    done: dict[str, list[int]] = {}
    for number in range(2 * SLOTS):
        add(engine, f"long{number}", LONG)
    step = 0
    while engine.has_unfinished_requests() or step < 20 * shorts:
        if step % 20 == 19 and step < 20 * (shorts + 1):
            add(engine, f"short{step // 20}", SHORT)
        for output in engine.step():
            if output.finished:
                done[output.request_id] = list(output.outputs[0].token_ids)
        step += 1
    return done


def main(model: str, mode: str) -> None:
    engine = LLMEngine.from_engine_args(
        EngineArgs(
            model=model,
            dtype="float32",
            scheduler_cls="hmas.engine.vllm_scheduler.PolymorphicScheduler",
            max_model_len=512,
            max_num_seqs=16,
            enforce_eager=True,
            block_size=32,
            num_gpu_blocks_override=256,
            async_scheduling=mode == "ahead",
        )
    )
    host = engine.engine_core.engine_core.scheduler._hmas
    expected = outputs(engine, 6)
    directive = Directive(
        engine_id=host.core.identity.engine_id,
        version=1,
        issued_at_s=SystemClock().now_s(),
        ttl_s=3600.0,
        topology="srtf",
        hints=HINTS,
        controls=Controls(n_run=SLOTS),
    )
    reply = host.mailbox.deliver(directive)
    assert reply.accepted, reply.reason
    before = host.report.sums.preemptions
    actual = outputs(engine, 6)
    yields = host.report.sums.preemptions - before
    print(
        json.dumps(
            {
                "requests": len(expected),
                "yields": yields,
                "different": sorted(n for n in expected if expected[n] != actual.get(n)),
                "faults": host.faults,
                "booked": host.core.fence.booked_blocks,
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
