"""The simulator on requests of which real times are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hmas.engine.clock import FakeClock
from hmas.engine.events import Event, RequestFinished
from hmas.engine.features import RequestFeatures, length_bucket
from hmas.engine.simulator.batching import SimulatedEngine
from hmas.engine.simulator.profile import Frontend, Profile
from hmas.engine.simulator.sequence import SimRequest
from hmas.engine.simulator.virtual import VirtualRun


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as its client sees it; ``arrival_s`` from the start of the run."""

    name: str
    arrival_s: float
    prompt_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class Timing:
    """When tokens came, in seconds after the request's arrival."""

    first_s: float
    last_s: float
    output_tokens: int

    @property
    def tpot_s(self) -> float:
        """Mean gap of the tokens after the first; 0 for one token."""
        return (self.last_s - self.first_s) / max(1, self.output_tokens - 1)


def simulate(
    requests: Sequence[Asked], profile: Profile, observe: Callable[[Event], None] | None = None
) -> Mapping[str, Timing]:
    """Stock vLLM as the simulator does it, with the profile's frontend around it.

    ``observe`` sees every event, with one ``StepStats`` per step.
    """
    frontend = profile.frontend or Frontend()
    arrivals = {request.name: request for request in requests}
    clock, timings = FakeClock(), dict[str, Timing]()

    def on_event(event: Event) -> None:
        if observe is not None:
            observe(event)
        if isinstance(event, RequestFinished):
            asked = arrivals[event.features.request_id]
            into_s = frontend.request_s(asked.prompt_tokens)
            around_s = into_s + frontend.output_ms / 1000
            last_s = event.at_s - asked.arrival_s - into_s
            timings[asked.name] = Timing(
                event.ttft_s + around_s, last_s + around_s, event.output_tokens
            )

    engine = SimulatedEngine(profile, clock, on_event, stock=True, stats_every_s=0.0)
    todo = sorted(
        (_sim_request(request, frontend) for request in requests),
        key=lambda request: request.features.arrival_s,
    )
    VirtualRun(todo, engine, clock=clock).run()
    return timings


def _sim_request(asked: Asked, frontend: Frontend) -> SimRequest:
    """As it reaches the engine's queue."""
    return SimRequest(
        features=RequestFeatures(
            request_id=asked.name,
            arrival_s=asked.arrival_s + frontend.request_s(asked.prompt_tokens),
            prompt_tokens=asked.prompt_tokens,
            length_bucket=length_bucket(asked.prompt_tokens),
        ),
        prompt_tokens=asked.prompt_tokens,
        output_tokens=asked.output_tokens,
    )
