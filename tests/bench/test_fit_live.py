import json

import msgspec
import numpy as np
import pytest

from hmas.bench.fit import main
from hmas.bench.fit_live import LiveFitError, fit_merged, listen
from hmas.engine.clock import FakeClock
from hmas.engine.directive import StepModel
from hmas.engine.events import StepStats
from hmas.engine.link.config import LinkConfig
from hmas.engine.link.endpoint import ControlEndpoint
from hmas.engine.simulator.batching import SimulatedEngine
from tests.engine.simulator.support import profile

TRUTH = StepModel(base_ms=6.0, prefill_ms=0.04, context_ms=1e-4, sequence_ms=0.3)


def reports(count=200, seed=4):
    random = np.random.default_rng(seed)
    return [_report(random) for _ in range(count)]


def _report(random):
    steps = int(random.integers(1, 8))
    prefill, context, sequences = (int(steps * random.integers(1, top)) for top in (300, 9000, 32))
    busy_ms = (
        steps * TRUTH.base_ms
        + prefill * TRUTH.prefill_ms
        + context * TRUTH.context_ms
        + sequences * TRUTH.sequence_ms
    )
    return StepStats(
        at_s=0.0, step=steps, steps=steps, busy_s=busy_ms / 1000, span_s=1.0, running=1, waiting=0,
        prefill_tokens=prefill, decode_tokens=0, context_tokens=context, sequences=sequences,
        kv_used=0.1, preemptions=0, token_budget=1, n_run=1, directive_version=0, topology="fcfs",
        bypass=False,
    )  # fmt: skip


def test_merged_steps_give_the_linear_coefficients():
    model, error = fit_merged(reports())
    assert model.base_ms == pytest.approx(TRUTH.base_ms, rel=1e-3)
    assert model.sequence_ms == pytest.approx(TRUTH.sequence_ms, rel=1e-3)
    assert error.p90 < 1e-3


def test_an_idle_engine_tells_too_little():
    with pytest.raises(LiveFitError, match="send it requests"):
        fit_merged(reports(3))


def test_an_engine_is_described_and_its_steps_are_heard(tmp_path):
    link = LinkConfig.local("engine0", tmp_path)
    engine = SimulatedEngine(profile(), FakeClock(), lambda event: None)
    events = reports(1)
    endpoint = ControlEndpoint(
        link, engine.handle, tick=lambda: endpoint.publish(events[0]), flush_s=0.01
    )
    endpoint.start()
    try:
        described, stats = listen(link, 0.5, print)
    finally:
        endpoint.close()
    assert described.limits == profile().limits
    assert stats
    assert stats[0] == events[0]


def test_a_step_log_becomes_a_profile(tmp_path, capsys):
    log, at_s = tmp_path / "steps.jsonl", 0.0
    lines = []
    for number in range(300):
        prefill = 400 * (number % 3 == 0)
        sequences = 1 + number % 9
        seconds = TRUTH.step_ms(prefill, 100 * sequences, sequences) / 1000
        shape = (prefill, 100 * sequences, sequences)
        lines.append(json.dumps(["step", at_s, at_s + seconds, *shape, False]))
        at_s += seconds
    log.write_text("\n".join(lines) + "\n")
    assert main(["live", "mine", "--log", str(log), "--hardware", "one core"]) == 0
    told = msgspec.json.decode(capsys.readouterr().out)
    assert told["name"] == "mine"
    model = StepModel(**told["step_model"])
    assert model.step_ms(400, 500, 5) == pytest.approx(TRUTH.step_ms(400, 500, 5), rel=0.02)


def test_an_engine_that_is_not_there_is_named(tmp_path, capsys):
    assert main(["live", "mine", "--log", str(tmp_path / "none")]) == 1
    assert "none" in capsys.readouterr().err
