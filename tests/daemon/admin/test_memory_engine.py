"""One invented engine and the records it leaves."""

from __future__ import annotations

from hmas.daemon.admin.memory_engine import MemoryEngine
from hmas.daemon.admin.memory_overrides import OverrideBook
from hmas.daemon.wire import BypassRequest, OverrideKind


def run(engine: MemoryEngine, seconds: range, overrides: OverrideBook) -> None:
    for at_s in seconds:
        engine.tick(float(at_s), overrides)


def test_it_decides_every_minute_and_keeps_the_evidence() -> None:
    engine, overrides = MemoryEngine("a", offset_s=0, reachable=True, seed=1), OverrideBook()
    run(engine, range(1, 601), overrides)
    assert len(engine.decisions) == 10
    decided = engine.decisions[-1]
    assert {proposal.source for proposal in decided.proposals} == {"llm", "rules", "bandit"}
    assert decided.inputs["queue_length"] is not None
    assert [d.version for d in engine.directives] == list(range(1, len(engine.directives) + 1))


def test_refusals_name_their_kind_and_the_rules_decide() -> None:
    engine, overrides = MemoryEngine("a", offset_s=0, reachable=True, seed=1), OverrideBook()
    run(engine, range(1, 6001), overrides)
    refused = [d for d in engine.decisions if d.proposals[0].refusal is not None]
    assert refused
    assert {decision.source for decision in refused} == {"rules"}


def test_a_bypass_is_marked_as_a_switch() -> None:
    engine, overrides = MemoryEngine("a", offset_s=0, reachable=True, seed=1), OverrideBook()
    run(engine, range(1, 31), overrides)
    overrides.add(OverrideKind.BYPASS, BypassRequest(reason="incident"), "ada", 30.0)
    run(engine, range(31, 33), overrides)
    status = engine.status(33.0, overrides)
    assert status.bypass
    assert status.n_run is None
    assert "ada" in status.sentence
    assert engine.switches[-1].bypass
