"""The admin API's port over a running control loop."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from hmas.daemon import wire
from hmas.daemon.admin.port import PageQuery, UnavailableError, UnknownThingError, ViewQuery
from hmas.engine.clock import FakeClock
from hmas.storage.errors import StoreUnavailableError
from hmas.storage.records import RequestRecord
from tests.daemon.control.running import Running
from tests.storage.support import directive


@pytest.fixture
async def running() -> AsyncIterator[Running]:
    running = Running(FakeClock(1000.0))
    yield running
    await running.close()


async def test_an_engine_that_was_never_reached_has_nothing_to_tell(running: Running) -> None:
    running.engine.controller = None
    running.engine.description = None
    running.engine.problem = "no answer within 1 s"
    [engine] = (await running.port.status()).engines
    assert not engine.reachable
    assert engine.sentence == "no answer within 1 s"
    assert (engine.topology, engine.directive, engine.v_short) == (None, None, None)


async def test_status_says_what_runs_who_set_it_and_why(running: Running) -> None:
    await running.cycle()
    await running.port.pin(wire.PinRequest(topology="wfq", reason="unfair", duration_s=60), "ada")
    await running.cycle()
    fleet = await running.port.status()
    [engine] = fleet.engines
    assert (engine.topology, engine.owner, engine.set_by) == ("wfq", "pin", "ada")
    assert "pinned wfq by ada" in engine.sentence
    assert engine.directive is not None
    assert (engine.directive.ack, engine.directive.active_version) == ("ack", 2)
    assert engine.lease.expires_at_s == pytest.approx(running.clock.now_s() + 5.0)
    assert engine.limits is not None
    assert engine.limits.max_num_seqs == 64
    assert [override.topology for override in engine.overrides] == ["wfq"]
    assert fleet.revision == 1


async def test_the_kill_switch_shows_as_bypass_by_its_operator(running: Running) -> None:
    await running.port.set_bypass(wire.BypassRequest(reason="incident"), "bob")
    await running.cycle()
    [engine] = (await running.port.status()).engines
    assert (engine.bypass, engine.owner, engine.set_by) == (True, "operator", "bob")


async def test_fixed_controls_are_in_the_directive(running: Running) -> None:
    request = wire.ControlsRequest(n_run=5, token_budget=300, reason="thrashing")
    await running.port.set_controls(request, "ada")
    await running.cycle()
    [engine] = (await running.port.status()).engines
    assert (engine.n_run, engine.token_budget) == (5, 300)
    assert running.link.core.controls.n_run == 5


async def test_a_refused_directive_is_shown_with_the_engines_words(running: Running) -> None:
    running.link.refuse = "in stock order after an internal fault"
    await running.cycle()
    [engine] = (await running.port.status()).engines
    assert engine.directive is not None
    assert (engine.directive.ack, engine.directive.reason) == ("nack", running.link.refuse)


async def test_what_a_renewal_brought_over_is_acked(running: Running) -> None:
    running.link.unreachable = "gone"
    await running.cycle()
    [engine] = (await running.port.status()).engines
    assert engine.directive is not None
    assert engine.directive.ack == "no-answer"
    running.link.unreachable = ""
    await running.cycle()
    [engine] = (await running.port.status()).engines
    assert engine.directive is not None
    assert engine.directive.ack == "ack"


async def test_an_expired_lease_is_seen(running: Running) -> None:
    await running.cycle()
    running.clock.advance(6.0)
    [engine] = (await running.port.status()).engines
    assert engine.lease.expired


async def test_switches_come_with_the_views(running: Running) -> None:
    await running.cycle()
    await running.port.pin(wire.PinRequest(topology="wfq", reason="unfair"), "ada")
    await running.cycle(5)
    series = await running.port.views(ViewQuery("engine0"))
    assert [switch.after for switch in series.switches] == ["wfq"]
    assert len(series.short) >= 2


async def test_views_reach_back_into_storage(running: Running) -> None:
    await running.cycle(40)
    running.engine.history.short.clear()
    await running.cycle(4)
    running.flush()
    series = await running.port.views(ViewQuery("engine0", limit=100))
    moments = [view.at_s for view in series.short]
    assert moments == sorted(set(moments))
    assert len(moments) == 11
    recent = await running.port.views(ViewQuery("engine0", since_s=moments[-2], limit=100))
    assert [view.at_s for view in recent.short] == moments[-1:]


async def test_directives_are_listed_with_their_answers(running: Running) -> None:
    await running.cycle()
    await running.port.pin(wire.PinRequest(topology="wfq", reason="unfair"), "ada")
    await running.cycle()
    running.flush()
    newest, oldest = await running.port.directives(PageQuery())
    assert (newest.version, newest.topology, newest.owner, newest.ack) == (2, "wfq", "pin", "ack")
    assert oldest.version == 1
    before = PageQuery(before_s=newest.issued_at_s)
    assert [row.version for row in await running.port.directives(before)] == [1]


async def test_decisions_show_every_proposal_and_refusal(running: Running) -> None:
    await running.decide()
    running.flush()
    [decision] = await running.port.decisions(PageQuery())
    sources = {proposal.source: proposal for proposal in decision.proposals}
    assert decision.source == "rules"
    assert sources["llm"].refusal is not None
    assert sources["llm"].refusal.kind == "not_json"
    assert sources["rules"].topology is not None
    assert decision.prompt_version == "7"
    assert decision.directive_version is None


async def test_a_decision_names_the_directive_it_led_to(running: Running) -> None:
    await running.decide()
    running.flush()
    [made] = await running.port.decisions(PageQuery())
    running.store.append([directive(version, cause=made.id) for version in (70, 71)])
    [shown] = await running.port.decisions(PageQuery())
    assert shown.directive_version == 70


async def test_a_request_can_be_looked_up(running: Running) -> None:
    running.store.append([request_record("r1")])
    shown = await running.port.request("r1")
    assert (shown.outcome, shown.ttft_ms, shown.slo_ok) == ("completed", 120.0, True)


async def test_a_broken_database_is_unavailable_not_a_crash(running: Running) -> None:
    running.broken = StoreUnavailableError("sqlite:////x", "disk full")
    for read in (running.port.decisions, running.port.directives, running.port.audit):
        with pytest.raises(UnavailableError, match="disk full"):
            await read(PageQuery())
    await running.cycle()
    assert (await running.port.status()).engines


async def test_an_unknown_override_is_said_so(running: Running) -> None:
    with pytest.raises(UnknownThingError, match="it may have ended"):
        await running.port.cancel(wire.OverrideKind.PIN, "pin-1", "ada")


def request_record(request_id: str) -> RequestRecord:
    return RequestRecord(
        engine_id="engine0",
        request_id=request_id,
        tenant="acme",
        task_type="QA",
        arrival_s=1.0,
        finished_at_s=2.0,
        prompt_tokens=10,
        predicted_output_tokens=20,
        output_tokens=21,
        ttft_s=0.12,
        tpot_s=0.01,
        queue_s=0.05,
        preemptions=0,
        outcome="completed",
        ttft_ok=True,
        tpot_ok=True,
    )
