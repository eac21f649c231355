"""Stock scheduler against plug-in, step by step. Runs inside the vLLM environment.

Prints one JSON object per run: how many steps were compared, what happened in them, and the
first differences.
"""

from __future__ import annotations

import json
import random
import sys
from dataclasses import dataclass, field, replace
from typing import Any

from vllm.v1.core.sched.async_scheduler import AsyncScheduler
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.request import RequestStatus

from hmas.bench.vllm_lab import Engine, make_request, make_scheduler, model_output
from hmas.engine.clock import SystemClock
from hmas.engine.directive import Controls, Directive
from hmas.engine.features import XARGS_KEY, RequestFeatures, encode_features
from hmas.engine.topologies import BASELINE, topology_names
from hmas.engine.vllm_scheduler import PolymorphicScheduler

REQUESTS = 600
OTHERS = [name for name in topology_names() if name != BASELINE]


@dataclass(frozen=True)
class Scenario:
    """One engine and, optionally, what the daemon does to it on the way."""

    engine: Engine
    swap_every: int = 0
    fenced: bool = False


SMALL_KV = Engine(max_num_seqs=32, max_num_batched_tokens=512, blocks=160, max_model_len=1024)
SCENARIOS = {
    "small_kv": Scenario(SMALL_KV),
    "no_prefix_cache": Scenario(replace(SMALL_KV, prefix_caching=False)),
    "long_prefill_cap": Scenario(replace(SMALL_KV, long_prefill=64)),
    "asynchronous": Scenario(replace(SMALL_KV, asynchronous=True)),
    "priority_policy": Scenario(replace(SMALL_KV, policy="priority")),
    "swap_and_back": Scenario(SMALL_KV, swap_every=7),
    "own_queue_in_fcfs": Scenario(replace(SMALL_KV, blocks=4000), fenced=True),
}


@dataclass
class Recorded:
    """A workload: what arrives and what is aborted before which step."""

    arrivals: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    aborts: dict[int, list[str]] = field(default_factory=dict)


def features(name: str, number: int) -> str:
    return encode_features(
        RequestFeatures(
            request_id=name,
            arrival_s=float(number),
            tenant=f"tenant{number % 3}",
            predicted_output_tokens=1 + number % 50,
            predicted_tpot_ms=10.0,
            known=True,
        )
    )


def record(seed: int) -> Recorded:
    generator = random.Random(seed)
    workload = Recorded()
    step = 0
    for number in range(REQUESTS):
        step += generator.choice([0, 0, 0, 1, 1, 3])
        if number % 100 == 99:
            step += 60
        prefix = [generator.randrange(3)] * generator.choice([0, 32, 64])
        prompt = prefix + generator.choices(range(1, 1000), k=generator.choice([4, 40, 90, 300]))
        name = f"r{number}"
        extra = generator.choice(
            [None, {XARGS_KEY: features(name, number)}, {XARGS_KEY: "{"}, {XARGS_KEY: 7}]
        )
        workload.arrivals.setdefault(step, []).append(
            {
                "name": name,
                "prompt": prompt,
                "max_tokens": generator.choice([1, 5, 20, 60, 150]),
                "arrival_time": 1000.0 + number,
                "priority": generator.choice([0, 0, 1, -3]),
                "extra_args": extra,
            }
        )
        if generator.random() < 0.08:
            workload.aborts.setdefault(step + generator.randrange(40), []).append(name)
    return workload


def essence(output: Any) -> dict[str, Any]:
    """Everything of a SchedulerOutput that the model runner acts on."""
    cached = output.scheduled_cached_reqs
    return {
        "new": [
            (new.req_id, new.block_ids, new.num_computed_tokens)
            for new in output.scheduled_new_reqs
        ],
        "cached": list(
            zip(
                cached.req_ids,
                cached.num_computed_tokens,
                cached.num_output_tokens,
                map(repr, cached.new_block_ids),
                strict=True,
            )
        ),
        "resumed": sorted(cached.resumed_req_ids),
        "tokens": list(output.num_scheduled_tokens.items()),
        "preempted": sorted(output.preempted_req_ids or ()),
        "finished": sorted(output.finished_req_ids),
    }


def essence_of_outputs(outputs: dict[int, Any]) -> list[Any]:
    return [
        (client, out.request_id, list(out.new_token_ids), str(out.finish_reason))
        for client, batch in sorted(outputs.items())
        for out in batch.outputs
    ]


class Driver:
    """Feeds one scheduler with the workload; under async scheduling one step runs ahead."""

    def __init__(self, scheduler: Any, engine: Engine, workload: Recorded) -> None:
        self.scheduler = scheduler
        self._engine = engine
        self._workload = workload
        self._pending: list[Any] = []
        self._depth = 2 if engine.asynchronous else 1

    def step(self, number: int) -> dict[str, Any]:
        for fields in self._workload.arrivals.get(number, ()):
            self.scheduler.add_request(make_request(**fields, block_size=self._engine.block_size))
        for name in self._workload.aborts.get(number, ()):
            self.scheduler.finish_requests(name, RequestStatus.FINISHED_ABORTED)
        output = self.scheduler.schedule()
        seen = essence(output)
        self._pending.append((output, model_output(output, self.scheduler)))
        if len(self._pending) >= self._depth:
            seen["outputs"] = essence_of_outputs(
                self.scheduler.update_from_output(*self._pending.pop(0))
            )
        return seen

    def done(self) -> bool:
        return not self.scheduler.has_requests()


def disturb(host: Any, scenario: Scenario, step: int) -> int:
    """Directives between two steps; returns how many swaps they made."""
    before = host.core.swaps

    def send(topology: str, controls: Controls) -> None:
        directive = Directive(
            engine_id=host.core.identity.engine_id,
            version=host.core.active_version + 1,
            issued_at_s=SystemClock().now_s(),
            ttl_s=3600.0,
            topology=topology,
            controls=controls,
        )
        reply = host.mailbox.deliver(directive)
        assert reply.accepted, reply.reason

    if scenario.fenced and step == 0:
        send("fcfs", Controls(fence={0: -100_000}))
        assert not host.in_stock_order
    if scenario.swap_every and step % scenario.swap_every == 0:
        send(OTHERS[step % len(OTHERS)], Controls(n_run=3, token_budget=77))
        assert not host.in_stock_order
        send("fcfs", Controls())
        assert host.in_stock_order
    return int(host.core.swaps - before)


def run(scenario: Scenario, seed: int) -> dict[str, Any]:
    workload = record(seed)
    engine = scenario.engine
    stock_class = AsyncScheduler if engine.asynchronous else Scheduler
    stock = Driver(make_scheduler(stock_class, engine), engine, workload)
    ours = Driver(make_scheduler(PolymorphicScheduler, engine), engine, workload)
    host = ours.scheduler._hmas
    last_step = max([*workload.arrivals, *workload.aborts])
    totals = {
        "requests": REQUESTS,
        "steps": 0,
        "tokens": 0,
        "preemptions": 0,
        "aborted": 0,
        "swaps": 0,
        "waiting_most": 0,
    }
    differences: list[Any] = []
    step = 0
    while (step <= last_step or not stock.done()) and step < 20_000 and not differences:
        totals["swaps"] += disturb(host, scenario, step)
        expected, actual = stock.step(step), ours.step(step)
        if expected != actual:
            differences.append(
                {"step": step, "stock": repr(expected)[:2000], "hmas": repr(actual)[:2000]}
            )
        totals["tokens"] += sum(tokens for _, tokens in expected["tokens"])
        totals["preemptions"] += len(expected["preempted"])
        totals["waiting_most"] = max(totals["waiting_most"], len(stock.scheduler.waiting))
        step += 1
    totals["steps"] = step
    totals["aborted"] = sum(map(len, workload.aborts.values()))
    return {
        **totals,
        "differences": differences,
        "finished": ours.done(),
        "faults": host.faults,
        "tracked": len(host.ledger),
        "booked": host.core.fence.booked_blocks,
        "asynchronous": isinstance(ours.scheduler, AsyncScheduler),
    }


if __name__ == "__main__":
    print(
        json.dumps(
            {
                name: run(SCENARIOS[name], seed=int(sys.argv[1]))
                for name in sys.argv[2:] or SCENARIOS
            }
        )
    )
