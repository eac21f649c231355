"""Random directives on a real vLLM scheduler. Runs inside the vLLM environment.

Checks at every step that each request is in exactly one place and moves forward, and at the
end that all were served: nobody lost, duplicated, restarted or starved.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from typing import Any

from vllm.v1.request import RequestStatus

from hmas.bench.vllm_lab import Engine, make_request, make_scheduler, model_output, token_of
from hmas.engine.clock import FakeClock
from hmas.engine.directive import Controls, Directive, StepModel
from hmas.engine.events import Event, Outcome, RequestFinished, RequestFirstToken
from hmas.engine.features import XARGS_KEY, RequestFeatures, encode_features
from hmas.engine.topologies import hint_bounds, topology_names
from hmas.engine.vllm_scheduler import PolymorphicScheduler

REQUESTS = 200
MAX_STEPS = 6000


class Run:
    """One engine under one random sequence of arrivals, aborts, directives and silences."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.engine = Engine(
            max_num_seqs=self.random.choice([4, 16, 32]),
            max_num_batched_tokens=self.random.choice([64, 256, 512]),
            blocks=self.random.choice([70, 120, 400]),
            max_model_len=1024,
            prefix_caching=self.random.random() < 0.5,
            long_prefill=self.random.choice([0, 48]),
            asynchronous=self.random.random() < 0.5,
        )
        self.clock = FakeClock(1_000_000.0)
        self.scheduler = make_scheduler(PolymorphicScheduler, self.engine)
        self.events: list[Event] = []
        self.host = self.scheduler._hmas
        self.host._clock = self.host.ledger._clock = self.clock
        self.host._publish = self.host.ledger._publish = self.events.append
        self.expected: dict[str, int] = {}
        self.outputs: dict[str, list[int]] = {}
        self.aborted: set[str] = set()
        self.pending: list[Any] = []
        self.counts: Counter[str] = Counter()
        self.version = 0
        self.prefers_srtf = seed % 3 == 0

    def arrive(self, number: int) -> None:
        name = f"r{number}"
        generator = self.random
        prompt = [generator.randrange(4)] * generator.choice([0, 48]) + generator.choices(
            range(1, 1000), k=generator.choice([2, 30, 200, 500])
        )
        tokens = generator.choice([1, 3, 30, 200])
        extra = {XARGS_KEY: self.features(name, tokens)} if generator.random() < 0.9 else None
        self.expected[name] = tokens
        self.outputs[name] = []
        self.scheduler.add_request(
            make_request(
                name,
                prompt,
                tokens,
                block_size=self.engine.block_size,
                arrival_time=self.clock.now_s(),
                extra_args=extra,
            )
        )

    def features(self, name: str, tokens: int) -> str:
        guess = max(1, int(tokens * self.random.choice([0.3, 1.0, 3.0])))
        return encode_features(
            RequestFeatures(
                request_id=name,
                arrival_s=self.clock.now_s(),
                tenant=self.random.choice("abc"),
                slo_ttft_ms=self.random.choice([10.0, 1000.0, 60_000.0]),
                slo_tpot_ms=self.random.choice([5.0, 50.0]),
                predicted_output_tokens=guess,
                predicted_tpot_ms=10.0,
                known=True,
            )
        )

    def direct(self) -> None:
        generator = self.random
        preferred = ["srtf"] * 60 if self.prefers_srtf else []
        topology = generator.choice([*topology_names() * 4, "unheard_of", *preferred])
        hints = {}
        if topology in topology_names() and generator.random() < 0.5:
            for name, (low, high) in hint_bounds(topology).items():
                hints[name] = generator.choice([low, high, *[(low + high) / 2] * 30, high + 1])
        if topology == "srtf":
            hints |= {"min_run_s": 0.0, "hysteresis": 1.0, "max_preemptions": 3.0}
        self.version += generator.choice([0, 1, 1, 1, 5]) or -1
        reply = self.host.mailbox.deliver(
            Directive(
                engine_id=self.host.core.identity.engine_id,
                version=max(1, self.version),
                issued_at_s=self.clock.now_s(),
                ttl_s=generator.choice([0.5, 30.0]),
                topology=topology,
                hints=hints,
                bypass=generator.random() < 0.1,
                controls=self.controls(),
            )
        )
        self.counts["acked" if reply.accepted else "refused"] += 1
        self.counts[f"used {self.host.core.topology.name}"] += 1

    def controls(self) -> Controls:
        generator = self.random
        fence = {bucket: generator.randrange(-50, 300) for bucket in range(generator.randrange(10))}
        model = StepModel(base_ms=2, prefill_ms=0.1, context_ms=0.001, sequence_ms=0.5)
        return Controls(
            n_run=generator.choice([None, 1, 2, 3, 4, 4, 16, 99]),
            token_budget=generator.choice([None, 1, 20, 40, 64, 64, 256, 9999]),
            fence=generator.choice([None, None, fence or {0: 0}, fence or {0: 0}, {}]),
            kv_margin=generator.choice([0.0, 0.1, 0.89]),
            step_model=generator.choice([None, model]),
        )

    def step(self) -> None:
        preempted = self.preempted_by_choice()
        output = self.scheduler.schedule()
        self.counts["yielded"] += self.preempted_by_choice() - preempted
        self.counts["preemptions"] += len(output.preempted_req_ids or ())
        self.counts["tokens"] += output.total_num_scheduled_tokens
        self.pending.append((output, model_output(output, self.scheduler)))
        if len(self.pending) >= (2 if self.engine.asynchronous else 1):
            batches = self.scheduler.update_from_output(*self.pending.pop(0))
            for batch in batches.values():
                for out in batch.outputs:
                    self.outputs[out.request_id].extend(out.new_token_ids)
        self.check_places()

    def preempted_by_choice(self) -> int:
        entries = self.host.ledger._entries.values()
        return sum(entry.preempted for entry in entries)

    def check_places(self) -> None:
        scheduler = self.scheduler
        places = [*scheduler.running, *scheduler.waiting, *scheduler.kv_holding_waiting]
        names = [request.request_id for request in places]
        assert len(names) == len(set(names)), "a request is in two places"
        assert set(names) == set(scheduler.requests), "a request is lost"
        assert sum(scheduler.get_request_counts()) == len(names)
        assert scheduler.max_num_scheduled_tokens >= len(scheduler.running), "the tail starves"

    def abort(self, name: str) -> None:
        if name in self.scheduler.requests:
            self.aborted.add(name)
            self.scheduler.finish_requests(name, RequestStatus.FINISHED_ABORTED)

    def go(self) -> dict[str, Any]:
        arrived = 0
        for _ in range(MAX_STEPS):
            self.counts["steps"] += 1
            self.clock.advance(self.random.choice([0.005, 0.02, 0.1]))
            if arrived < REQUESTS and self.random.random() < 0.5:
                self.arrive(arrived)
                arrived += 1
            if self.random.random() < 0.15:
                self.direct()
            if self.random.random() < 0.03:
                self.abort(f"r{self.random.randrange(REQUESTS)}")
            if self.random.random() < 0.01:
                self.clock.advance(60.0)
            if self.random.random() < 0.01:
                self.scheduler.reset_prefix_cache(reset_running_requests=True)
            if self.random.random() < 0.1:
                self.host.tick()
            self.step()
            if arrived == REQUESTS and not self.scheduler.has_requests():
                break
        self.check_end()
        return {**self.counts, "aborted": len(self.aborted)}

    def check_end(self) -> None:
        assert not self.scheduler.has_requests(), "starved: not served within the step limit"
        for name, tokens in self.expected.items():
            served = self.outputs[name]
            assert served == [token_of(name, at) for at in range(len(served))], "restarted"
            assert name in self.aborted or len(served) == tokens, "cut short"
        finished = [event for event in self.events if isinstance(event, RequestFinished)]
        names = [event.features.request_id for event in finished]
        assert sorted(names) == sorted(self.expected), "an end was not told, or told twice"
        for event in finished:
            gone = event.features.request_id in self.aborted
            assert (event.outcome is Outcome.ABORTED) == gone
            assert event.output_tokens == len(self.outputs[event.features.request_id])
        first = [e.request_id for e in self.events if isinstance(e, RequestFirstToken)]
        assert sorted(first) == sorted(name for name in names if self.outputs[name])
        assert self.host.faults == 0
        assert (len(self.host.ledger), self.host.core.running) == (0, 0)
        assert self.host.core.fence.booked_blocks == 0
        assert self.host.ledger.context_tokens == 0
        free = self.scheduler.kv_cache_manager.block_pool.get_num_free_blocks()
        assert free == self.engine.blocks - 1


def main(seeds: range) -> None:
    totals: Counter[str] = Counter()
    for seed in seeds:
        try:
            totals.update(Run(seed).go())
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
    print(json.dumps({"runs": len(seeds), **totals}))


if __name__ == "__main__":
    main(range(int(sys.argv[1]), int(sys.argv[2])))
