from __future__ import annotations

from hmas.bench.control_loop import ControlLoop
from hmas.controllers.config import ControlConfig
from hmas.engine.clock import FakeClock
from hmas.engine.events import Event
from hmas.engine.features import RequestFeatures
from hmas.engine.simulator.batching import SimulatedEngine
from hmas.engine.simulator.profile import load_profile
from hmas.engine.simulator.sequence import SimRequest
from hmas.engine.simulator.virtual import Tick, run


def overloaded(config: ControlConfig) -> ControlLoop:
    """A minute of far more long prompts than the engine can take, and its control loop."""
    clock = FakeClock()
    loops: list[ControlLoop] = []

    def observe(event: Event) -> None:
        for loop in loops:
            loop.observe(event)

    engine = SimulatedEngine(load_profile("a100-qwen3-8b"), clock, observe)
    assert engine.core is not None
    loops.append(ControlLoop(engine.core, config))
    requests = [
        SimRequest(
            features=RequestFeatures(
                request_id=f"r{index}",
                arrival_s=index * 0.1,
                prompt_tokens=4000 if index % 3 == 0 else 200,
                predicted_output_tokens=20,
                known=True,
            ),
            prompt_tokens=4000 if index % 3 == 0 else 200,
            output_tokens=20,
        )
        for index in range(600)
    ]
    result = run(requests, engine, clock=clock, ticks=[Tick(config.cycle_s, loops[0].tick)])
    assert result.unfinished == 0
    return loops[0]


def test_the_loop_takes_over_and_keeps_the_lease() -> None:
    loop = overloaded(ControlConfig())
    counts = loop.counts()
    assert counts.directives >= 1
    assert counts.nacks == 0
    assert loop.switches[0].owner == "meta"


def test_a_swap_is_counted_for_every_rebuilt_order() -> None:
    loop = overloaded(ControlConfig(initial_topology="edf"))
    assert loop.counts().swaps >= 1
    assert loop.switches[0].topology == "edf"
