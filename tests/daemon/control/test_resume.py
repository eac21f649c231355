"""A restarted daemon goes on where it was; a broken database is no obstacle."""

from __future__ import annotations

from hmas.controllers.decisions import ResumeState
from hmas.daemon.control.engines import Delivery
from hmas.daemon.control.records import directive_record, resume_records
from hmas.daemon.control.resume import resumed_overrides, resumed_state
from hmas.storage.errors import StoreUnavailableError
from hmas.storage.memory import MemoryStore
from hmas.storage.records import OverrideKind, OverrideRecord, ResumeRecord
from tests.daemon.control.support import cycle_result, directive


def unavailable() -> MemoryStore:
    raise StoreUnavailableError("sqlite:////x", "disk full")


def pin(record_id: str, expires_at_s: float | None) -> OverrideRecord:
    return OverrideRecord(
        engine_id="engine0",
        id=record_id,
        kind=OverrideKind.PIN,
        payload={"topology": "edf"},
        reason="because",
        owner="op",
        created_at_s=1.0,
        expires_at_s=expires_at_s,
    )


async def test_only_overrides_that_still_hold_come_back() -> None:
    store = MemoryStore()
    store.append([pin("over", 5.0), pin("holds", None)])
    book = await resumed_overrides(lambda: store, 10.0)
    assert [record.id for record in book.held()] == ["holds"]


async def test_without_a_database_there_are_none() -> None:
    assert (await resumed_overrides(unavailable, 10.0)).held() == []
    assert await resumed_state(unavailable, "engine0") is None


async def test_a_new_engine_has_no_past() -> None:
    assert await resumed_state(MemoryStore, "engine0") is None


async def test_topology_d_b_and_the_last_version_come_back() -> None:
    store = MemoryStore()
    state = ResumeState(
        engine_id="engine0",
        version=8,
        topology="edf",
        stable_topology="edf",
        calibration={2: [5, -3]},
    )
    store.append(resume_records(state, 5.0))
    store.append([directive_record(Delivery(directive(11), cycle_result()))])
    resumed = await resumed_state(lambda: store, "engine0")
    assert resumed is not None
    assert (resumed.topology, resumed.calibration) == ("edf", {2: [5, -3]})
    assert resumed.version == 11


async def test_versions_rise_even_when_the_state_cannot_be_read() -> None:
    store = MemoryStore()
    store.append([ResumeRecord(engine_id="engine0", payload={"odd": 1}, updated_at_s=1.0)])
    store.append([directive_record(Delivery(directive(11), cycle_result()))])
    resumed = await resumed_state(lambda: store, "engine0")
    assert resumed is not None
    assert (resumed.version, resumed.topology) == (11, "fcfs")
