"""The contract of every store: memory, SQLite and PostgreSQL."""

from __future__ import annotations

import math
from threading import Thread
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hmas.storage.errors import RecordRefusedError
from hmas.storage.records import (
    ALL_ENGINES,
    AckState,
    AuditRecord,
    DecisionRecord,
    DecisionRole,
    DirectiveRecord,
    Horizon,
    OverrideRecord,
    RequestRecord,
)
from hmas.storage.store import MAX_LIMIT, AuditFilter, Cursor, DecisionFilter, Store
from tests.storage.support import (
    audit,
    calibration,
    decision,
    directive,
    finished,
    guard_event,
    learned,
    one_of_each,
    override,
    prompt,
    resume,
    view,
)

scalars = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text() | st.floats()
values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)
payloads = st.dictionaries(st.text(max_size=20), values, max_size=5)


def test_one_of_each_kind_reads_back_as_it_was(store: Store) -> None:
    records = one_of_each()
    view_, decision_, directive_, override_, guard_, errors, request, prompt_, *rest = records
    audit_, resume_, training_ = rest
    store.append(records)
    assert store.views("engine0", Horizon.SHORT) == [view_]
    assert store.view("engine0", Horizon.SHORT, 1.0) == view_
    assert store.decisions() == [store.decision("d1")] == [decision_]
    assert store.directives("engine0") == [store.latest_directive("engine0")] == [directive_]
    assert store.overrides() == [store.override("o1")] == [override_]
    assert store.guard_events() == [guard_]
    assert store.calibration("engine0") == [errors]
    assert store.requests() == [store.request("r1")] == [request]
    assert store.prompt_versions("meta_controller") == [prompt_]
    assert store.audit() == [audit_]
    assert store.resume("engine0") == resume_
    assert store.training() == [training_]


def test_an_empty_store_answers_with_nothing(store: Store) -> None:
    assert store.views("engine0", Horizon.LONG) == []
    assert store.view("engine0", Horizon.LONG, 1.0) is None
    assert store.decisions() == store.audit() == store.requests() == store.overrides() == []
    assert store.training() == []
    assert store.decision("x") is None
    assert store.latest_directive("engine0") is None
    assert store.last_version("engine0") == 0
    assert store.override("x") is None
    assert store.request("x") is None
    assert store.resume("engine0") is None
    assert store.active_prompt("meta_controller") is None
    store.append([])


def without_what_no_database_holds(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            without_what_no_database_holds(name): without_what_no_database_holds(item)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [without_what_no_database_holds(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value


def test_training_is_read_page_by_page(store: Store) -> None:
    store.append([learned(f"t{number}", at_s=float(number // 2)) for number in range(5)])
    first = store.training(limit=3)
    assert [record.id for record in first] == ["t4", "t3", "t2"]
    rest = store.training(before=Cursor.of(first[-1]), limit=3)
    assert [record.id for record in rest] == ["t1", "t0"]


def test_a_cause_finds_its_first_directive(store: Store) -> None:
    store.append([directive(version, cause=cause) for version, cause in enumerate("aabba", 1)])
    assert store.caused_versions(["a", "b", "c"]) == {"a": 1, "b": 3}
    assert store.caused_versions([]) == {}


@settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(payload=payloads, text=st.text(max_size=50))
def test_any_payload_comes_back(store: Store, payload: dict[str, Any], text: str) -> None:
    store.append([resume(payload=payload), audit(result=text, inputs=payload)])
    kept = store.resume("engine0")
    expected = without_what_no_database_holds(payload)
    assert kept is not None
    assert kept.payload == expected
    assert store.audit()[0].inputs == expected
    assert store.audit()[0].result == without_what_no_database_holds(text)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(at_s=st.floats(allow_nan=False, allow_infinity=False, width=64))
def test_any_time_comes_back_exactly(store: Store, at_s: float) -> None:
    store.append([resume(updated_at_s=at_s)])
    kept = store.resume("engine0")
    assert kept is not None
    assert kept.updated_at_s == at_s


def test_lone_surrogates_and_nul_are_replaced_not_refused(store: Store) -> None:
    store.append([decision("d\0", reason="\ud800 and \0", inputs={"\udfff": "\0"})])
    kept = store.decision("d\0")
    assert kept is not None
    assert kept.reason == "\ufffd and \ufffd"
    assert kept.inputs == {"\ufffd": "\ufffd"}


def test_a_changed_payload_does_not_reach_into_the_store(store: Store) -> None:
    payload = {"topology": "edf"}
    store.append([resume(payload=payload)])
    payload["topology"] = "changed"
    kept = store.resume("engine0")
    assert kept is not None
    assert kept.payload == {"topology": "edf"}


def test_one_bad_record_keeps_the_whole_batch_out(store: Store) -> None:
    with pytest.raises(RecordRefusedError, match=r"view refused: .*at_s"):
        store.append([audit(), view(at_s=math.nan)])
    assert store.audit() == []


def test_equal_keys_the_last_one_wins(store: Store) -> None:
    store.append([audit(result="first"), audit(result="second")])
    assert [record.result for record in store.audit()] == ["second"]
    store.append([audit(result="third")])
    assert [record.result for record in store.audit()] == ["third"]


def test_views_newest_first_since_and_limited(store: Store) -> None:
    store.append([view(float(at_s)) for at_s in (3, 1, 2)])
    store.append([view(9.0, engine_id="other"), view(9.0, horizon=Horizon.LONG)])

    def times(**options: Any) -> list[float]:
        return [found.at_s for found in store.views("engine0", Horizon.SHORT, **options)]

    assert times() == [3.0, 2.0, 1.0]
    assert times(since_s=2.0) == [3.0, 2.0]
    assert times(limit=1) == [3.0]


@pytest.mark.parametrize("limit", [0, -1, MAX_LIMIT + 1])
def test_a_limit_out_of_range_is_named(store: Store, limit: int) -> None:
    with pytest.raises(ValueError, match=f"limit must be 1 to {MAX_LIMIT}, not {limit}"):
        store.audit(limit=limit)


def test_decisions_are_filtered(store: Store) -> None:
    store.append(
        [
            decision("d1", 1.0),
            decision("d2", 2.0, engine_id="other", controller="llm", outcome="refused"),
            decision("d3", 3.0, role=DecisionRole.SHADOW),
        ]
    )

    def ids(**filters: Any) -> list[str]:
        return [found.id for found in store.decisions(DecisionFilter(**filters))]

    assert ids() == ["d3", "d2", "d1"]
    assert ids(engine_id="other") == ids(controller="llm") == ids(outcome="refused") == ["d2"]
    assert ids(role=DecisionRole.PRIMARY) == ["d2", "d1"]
    assert ids(role=DecisionRole.SHADOW, controller="llm") == []


def test_pages_of_decisions_cover_all_even_at_equal_times(store: Store) -> None:
    names = [f"d{number:02}" for number in range(25)]
    store.append([decision(name, at_s=float(int(name[1:]) // 10)) for name in names])
    seen: list[DecisionRecord] = []
    cursor = None
    while page := store.decisions(before=cursor, limit=4):
        seen += page
        cursor = Cursor.parse(str(Cursor.of(page[-1])))
    assert [found.id for found in seen] == names[::-1]


def test_ids_sort_by_code_point_in_every_database(store: Store) -> None:
    names = ["a", "B", "ä", "Z", "_", "\U0001f600", "\uffee"]
    store.append([decision(name) for name in names])
    assert [found.id for found in store.decisions()] == sorted(names, reverse=True)


def test_audit_is_filtered_and_paged(store: Store) -> None:
    store.append([audit("a1", 1.0), audit("a2", 2.0, actor="bob", action="bypass")])
    store.append([audit("a3", 3.0, engine_id="engine1", target="engine1")])

    def ids(**filters: str) -> list[str]:
        return [found.id for found in store.audit(AuditFilter(**filters))]

    assert ids(actor="bob") == ids(action="bypass") == ["a2"]
    assert ids(engine_id=ALL_ENGINES) == ids(target="engine0") == ["a2", "a1"]
    assert [found.id for found in store.audit(before=Cursor(3.0, "a3"), limit=1)] == ["a2"]


def test_directives_go_by_version(store: Store) -> None:
    store.append([directive(2), directive(11), directive(3), directive(99, engine_id="other")])
    assert store.last_version("engine0") == 11
    latest = store.latest_directive("engine0")
    assert latest is not None
    assert latest.version == 11
    assert [d.version for d in store.directives("engine0")] == [11, 3, 2]
    assert [d.version for d in store.directives("engine0", before_version=11, limit=1)] == [3]


def test_an_acknowledgement_replaces_the_pending_directive(store: Store) -> None:
    sent = directive(5)
    store.append([sent])
    answered = msgspec.structs.replace(
        sent, ack=AckState.NACKED, ack_reason="n_run above 64", acked_at_s=6.0, step=12
    )
    store.append([answered])
    assert store.directives("engine0") == [answered]


def test_overrides_end_by_expiry_or_revocation(store: Store) -> None:
    lasting, expiring = override("o1"), override("o2", expires_at_s=20.0, created_at_s=11.0)
    everywhere = override("o3", engine_id=ALL_ENGINES, created_at_s=12.0)
    elsewhere = override("o4", engine_id="other", created_at_s=13.0)
    store.append([lasting, expiring, everywhere, elsewhere])

    def active(now_s: float, engine_id: str | None = None) -> list[str]:
        return [found.id for found in store.active_overrides(now_s, engine_id=engine_id)]

    assert active(19.9) == ["o4", "o3", "o2", "o1"]
    assert active(19.9, "engine0") == ["o3", "o2", "o1"]
    assert active(20.0, "engine0") == ["o3", "o1"]
    store.append([msgspec.structs.replace(lasting, revoked_at_s=21.0, revoked_by="bob")])
    assert active(22.0, "engine0") == ["o3"]
    assert [found.id for found in store.overrides(engine_id="engine0")] == ["o3", "o2", "o1"]
    assert [found.id for found in store.overrides(limit=1)] == ["o4"]


def test_guard_events_by_engine_and_time(store: Store) -> None:
    store.append([guard_event(1.0), guard_event(2.0, verdict="fail"), guard_event(2.0)])
    store.append([guard_event(3.0, engine_id="other")])
    assert [e.at_s for e in store.guard_events()] == [3.0, 2.0, 2.0, 1.0]
    mine = store.guard_events(engine_id="engine0", since_s=2.0)
    assert [e.verdict for e in mine] == ["pass", "fail"]
    assert len(store.guard_events(limit=2)) == 2


def test_calibration_by_bucket(store: Store) -> None:
    store.append([calibration(10), calibration(2, errors=[]), calibration(1, engine_id="other")])
    store.append([calibration(2, errors=[4.0], updated_at_s=9.0)])
    assert [(c.bucket, c.errors) for c in store.calibration("engine0")] == [
        (2, [4.0]),
        (10, [-1.0, 2.5]),
    ]


def test_requests_by_engine_tenant_and_time(store: Store) -> None:
    store.append([finished("r1", 1.0), finished("r2", 2.0, tenant="umbrella")])
    store.append([finished("r1", 3.0, engine_id="engine1")])

    def ids(**options: Any) -> list[tuple[str, str]]:
        return [(r.request_id, r.engine_id) for r in store.requests(**options)]

    assert ids() == [("r1", "engine1"), ("r2", "engine0"), ("r1", "engine0")]
    assert ids(engine_id="engine1") == [("r1", "engine1")]
    assert ids(tenant="umbrella") == [("r2", "engine0")]
    assert ids(since_s=2.0, limit=1) == [("r1", "engine1")]
    latest = store.request("r1")
    assert latest is not None
    assert latest.engine_id == "engine1"


def test_the_active_prompt_is_the_highest_active_version(store: Store) -> None:
    store.append([prompt(1), prompt(2), prompt(10, active=False), prompt(3, name="other")])
    assert [p.version for p in store.prompt_versions("meta_controller")] == [10, 2, 1]
    active = store.active_prompt("meta_controller")
    assert active is not None
    assert active.version == 2


def test_expiry_deletes_the_oldest_first_and_at_most_the_limit(store: Store) -> None:
    store.append([finished(f"r{at_s}", float(at_s)) for at_s in (5, 1, 4, 2, 3)])
    assert store.expire(RequestRecord, 5.0, 3) == 3
    assert [r.request_id for r in store.requests()] == ["r5", "r4"]
    assert store.expire(RequestRecord, 5.0, 3) == 1
    assert store.expire(RequestRecord, 5.0, 3) == 0


def test_expiry_keeps_the_newest_directive_of_each_engine(store: Store) -> None:
    store.append([directive(1), directive(2), directive(7, engine_id="other", issued_at_s=0.0)])
    assert store.expire(DirectiveRecord, 100.0, 10) == 1
    assert store.last_version("engine0") == 2
    assert store.last_version("other") == 7


def test_expiry_keeps_overrides_that_have_not_ended(store: Store) -> None:
    store.append([override("lasting"), override("expired", expires_at_s=20.0)])
    store.append([override("revoked", revoked_at_s=15.0), override("later", expires_at_s=60.0)])
    assert store.expire(OverrideRecord, 50.0, 10) == 2
    assert {found.id for found in store.overrides()} == {"lasting", "later"}


def test_expiry_of_other_kinds_goes_by_time(store: Store) -> None:
    store.append([audit("a1", 1.0), audit("a2", 2.0), decision("d1", 1.0), decision("d2", 2.0)])
    assert store.expire(AuditRecord, 2.0, 10) == 1
    assert store.expire(DecisionRecord, 2.0, 10) == 1
    assert [found.id for found in store.audit()] == ["a2"]
    assert [found.id for found in store.decisions()] == ["d2"]


def test_views_expire_by_horizon(store: Store) -> None:
    store.append([view(1.0), view(1.0, horizon=Horizon.LONG), view(5.0, horizon=Horizon.LONG)])
    assert store.expire_views(Horizon.LONG, 5.0, 10) == 1
    assert len(store.views("engine0", Horizon.LONG)) == 1
    assert len(store.views("engine0", Horizon.SHORT)) == 1


def test_oldest_views_come_oldest_first_from_all_engines(store: Store) -> None:
    store.append([view(2.0), view(1.0, engine_id="other"), view(1.0), view(3.0)])
    found = store.oldest_views(Horizon.SHORT, 3.0, 10)
    assert [(v.at_s, v.engine_id) for v in found] == [
        (1.0, "engine0"),
        (1.0, "other"),
        (2.0, "engine0"),
    ]
    assert store.oldest_views(Horizon.SHORT, 3.0, 2) == found[:2]


def test_views_are_replaced_in_one_go(store: Store) -> None:
    old = [view(float(at_s)) for at_s in range(1200)]
    store.append([*old, view(5000.0)])
    minute = view(0.0, horizon=Horizon.SHORT_MINUTE)
    store.replace_views(old, [minute])
    assert store.views("engine0", Horizon.SHORT_MINUTE) == [minute]
    assert [v.at_s for v in store.views("engine0", Horizon.SHORT)] == [5000.0]


def test_threads_write_and_read_at_once(store: Store) -> None:
    failures: list[Exception] = []

    def work(name: str) -> None:
        try:
            for number in range(20):
                store.append([finished(f"{name}-{number}"), directive(number + 1)])
                store.requests(limit=5)
        except Exception as error:  # noqa: BLE001 - reported below
            failures.append(error)

    threads = [Thread(target=work, args=(f"t{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(store.requests(limit=1000)) == 80
    assert store.last_version("engine0") == 20


@pytest.mark.parametrize("text", ["", "1.0", "x~id", "~"])
def test_a_foreign_cursor_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="cursor"):
        Cursor.parse(text)


@given(at_s=st.floats(allow_nan=False), record_id=st.text())
def test_cursors_survive_the_trip_through_text(at_s: float, record_id: str) -> None:
    assert Cursor.parse(str(Cursor(at_s, record_id))) == Cursor(at_s, record_id)
