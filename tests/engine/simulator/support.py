"""A small engine, its clock and its events for the simulator's tests."""

from __future__ import annotations

from typing import Any

from hmas.engine.clock import FakeClock
from hmas.engine.directive import Directive, EngineLimits, StepModel
from hmas.engine.events import Event, RequestFinished, StepStats
from hmas.engine.features import RequestFeatures, length_bucket
from hmas.engine.simulator.batching import SimulatedEngine
from hmas.engine.simulator.profile import Profile
from hmas.engine.simulator.sequence import SimRequest

ONE_MS_PER_STEP = StepModel(base_ms=1.0, prefill_ms=0.0, context_ms=0.0, sequence_ms=0.0)


def profile(step_model: StepModel = ONE_MS_PER_STEP, **limits: int) -> Profile:
    defaults = {
        "max_num_seqs": 4,
        "max_num_batched_tokens": 64,
        "kv_blocks": 32,
        "block_size": 16,
        "max_model_len": 256,
    }
    return Profile(
        name="small",
        model="small",
        hardware="none",
        source="test",
        licence="none",
        notes="",
        command="",
        step_model=step_model,
        limits=EngineLimits(**{**defaults, **limits}),
        kv_bytes_per_token=1,
    )


def sim_request(
    name: str,
    prompt: int,
    output: int,
    *,
    arrival_s: float = 0.0,
    max_tokens: int | None = None,
    hashes: tuple[int, ...] = (),
    **features: Any,
) -> SimRequest:
    features.setdefault("predicted_output_tokens", output)
    features.setdefault("predicted_tpot_ms", 1.0)
    return SimRequest(
        features=RequestFeatures(
            request_id=name,
            arrival_s=arrival_s,
            prompt_tokens=prompt,
            length_bucket=length_bucket(prompt),
            **features,
        ),
        prompt_tokens=prompt,
        output_tokens=output,
        max_tokens=max_tokens,
        prefix_hashes=hashes,
    )


class Bench:
    """One engine on a fake clock; ``step`` returns what each request got, in tokens."""

    def __init__(self, used: Profile | None = None, **options: Any) -> None:
        self.clock = FakeClock()
        self.events: list[Event] = []
        self.engine = SimulatedEngine(
            used or profile(), self.clock, self.events.append, stats_every_s=0.0, **options
        )

    def add(self, *arguments: Any, **options: Any) -> Any:
        return self.engine.add(sim_request(*arguments, **options))

    def step(self) -> dict[str, int]:
        plan = self.engine.begin()
        if plan is None:
            return {}
        tokens = {name_of(sequence): 1 for sequence in self.engine.generating()}
        tokens |= {name_of(chunk.sequence): chunk.tokens for chunk in plan.chunks}
        self.clock.advance(plan.duration_s)
        self.engine.end()
        return tokens

    def steps(self, most: int = 100_000) -> list[dict[str, int]]:
        done: list[dict[str, int]] = []
        while self.engine.has_work and len(done) < most:
            done.append(self.step())
        return done

    def direct(self, version: int, topology: str = "fcfs", **fields: Any) -> Any:
        return self.engine.handle(directive(version, topology, **fields))

    @property
    def finished(self) -> dict[str, RequestFinished]:
        events = [event for event in self.events if isinstance(event, RequestFinished)]
        assert len({event.features.request_id for event in events}) == len(events)
        return {event.features.request_id: event for event in events}

    @property
    def stats(self) -> list[StepStats]:
        return [event for event in self.events if isinstance(event, StepStats)]


def directive(version: int, topology: str = "fcfs", **fields: Any) -> Directive:
    fields.setdefault("ttl_s", 3600.0)
    return Directive(
        engine_id="engine0", version=version, issued_at_s=0.0, topology=topology, **fields
    )


def name_of(sequence: Any) -> str:
    return str(sequence.request.features.request_id)
