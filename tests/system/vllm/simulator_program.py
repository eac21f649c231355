"""Simulator in stock mode against vLLM's scheduler, step by step. Runs in the vLLM environment.

Prints one JSON object per scenario: what happened, and the first step that differs.
"""

from __future__ import annotations

import json
import random
import sys
from dataclasses import replace
from typing import Any

from vllm.v1.core.sched.scheduler import Scheduler

from hmas.bench.vllm_lab import Engine, make_request, make_scheduler, model_output
from hmas.engine.clock import FakeClock
from hmas.engine.directive import EngineLimits, StepModel
from hmas.engine.features import RequestFeatures
from hmas.engine.simulator.batching import SimulatedEngine
from hmas.engine.simulator.profile import Profile
from hmas.engine.simulator.sequence import SimRequest

REQUESTS = 600
TIGHT = Engine(
    max_num_seqs=32,
    max_num_batched_tokens=256,
    blocks=161,
    max_model_len=1024,
    prefix_caching=False,
)
SCENARIOS = {
    "tight_memory": TIGHT,
    "ample_memory": replace(TIGHT, blocks=4001),
    "few_sequences": replace(TIGHT, blocks=1001, max_num_seqs=4),
    "prefix_cache": replace(TIGHT, prefix_caching=True),
    "ample_prefix_cache": replace(TIGHT, prefix_caching=True, blocks=2001),
}


def record(seed: int, block_size: int) -> dict[int, list[dict[str, Any]]]:
    """Requests by the step before which they arrive; a third share one of three prefixes."""
    generator = random.Random(seed)
    arrivals: dict[int, list[dict[str, Any]]] = {}
    step = 0
    for number in range(REQUESTS):
        step += generator.choice([0, 0, 1, 3, 8])
        prefix = [generator.randrange(1, 4)] * generator.choice([0, 32, 64])
        tail = generator.choices(range(10, 1000), k=generator.choice([3, 40, 90, 300]))
        prompt = prefix + tail
        arrivals.setdefault(step, []).append(
            {
                "name": f"r{number}",
                "prompt": prompt,
                "hashes": [
                    hash(tuple(prompt[: end + block_size])) & (2**62 - 1)
                    for end in range(0, len(prompt) - block_size + 1, block_size)
                ],
                "max_tokens": generator.choice([1, 5, 20, 60, 150]),
            }
        )
    return arrivals


def profile(engine: Engine) -> Profile:
    return Profile(
        name="parity",
        model="parity",
        hardware="none",
        source="test",
        licence="none",
        notes="",
        command="",
        step_model=StepModel(base_ms=1.0, prefill_ms=0.0, context_ms=0.0, sequence_ms=0.0),
        limits=EngineLimits(
            max_num_seqs=engine.max_num_seqs,
            max_num_batched_tokens=engine.max_num_batched_tokens,
            kv_blocks=engine.blocks - 1,
            block_size=engine.block_size,
            max_model_len=engine.max_model_len,
        ),
        kv_bytes_per_token=1,
    )


class VllmDriver:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._scheduler = make_scheduler(Scheduler, engine)

    def add(self, fields: dict[str, Any]) -> None:
        self._scheduler.add_request(
            make_request(
                fields["name"],
                fields["prompt"],
                fields["max_tokens"],
                block_size=self._engine.block_size,
            )
        )

    def step(self) -> dict[str, Any]:
        output = self._scheduler.schedule()
        self._scheduler.update_from_output(output, model_output(output, self._scheduler))
        return {
            "tokens": dict(output.num_scheduled_tokens),
            "preempted": len(output.preempted_req_ids or ()),
        }

    @property
    def has_work(self) -> bool:
        return bool(self._scheduler.has_requests())


class SimulatorDriver:
    def __init__(self, engine: Engine) -> None:
        self._clock = FakeClock()
        self._engine = SimulatedEngine(
            profile(engine),
            self._clock,
            lambda event: None,
            stock=True,
            prefix_caching=engine.prefix_caching,
        )

    def add(self, fields: dict[str, Any]) -> None:
        features = RequestFeatures(request_id=fields["name"], arrival_s=self._clock.now_s())
        self._engine.add(
            SimRequest(
                features=features,
                prompt_tokens=len(fields["prompt"]),
                output_tokens=fields["max_tokens"],
                prefix_hashes=tuple(fields["hashes"]),
            )
        )

    def step(self) -> dict[str, Any]:
        plan = self._engine.begin()
        if plan is None:
            return {"tokens": {}, "preempted": 0}
        tokens = {name_of(sequence): 1 for sequence in self._engine.generating()}
        tokens |= {name_of(chunk.sequence): chunk.tokens for chunk in plan.chunks}
        self._clock.advance(plan.duration_s)
        self._engine.end()
        return {"tokens": tokens, "preempted": plan.preemptions}


def name_of(sequence: Any) -> str:
    return str(sequence.request.features.request_id)


def run(engine: Engine, seed: int) -> dict[str, Any]:
    arrivals = record(seed, engine.block_size)
    stock, simulated = VllmDriver(engine), SimulatorDriver(engine)
    step = preemptions = tokens = 0
    while step <= max(arrivals) or stock.has_work:
        for fields in arrivals.get(step, ()):
            stock.add(fields)
            simulated.add(fields)
        expected, actual = stock.step(), simulated.step()
        if expected != actual:
            return {"steps": step, "vllm": repr(expected), "simulator": repr(actual)}
        preemptions += expected["preempted"]
        tokens += sum(expected["tokens"].values())
        step += 1
    return {
        "steps": step,
        "requests": REQUESTS,
        "tokens": tokens,
        "preemptions": preemptions,
        "vllm": "",
        "simulator": "",
    }


if __name__ == "__main__":
    print(json.dumps({name: run(engine, int(sys.argv[1])) for name, engine in SCENARIOS.items()}))
