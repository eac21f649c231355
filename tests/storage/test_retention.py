"""By age: rolled up, deleted, kept."""

from __future__ import annotations

from hmas.storage.records import Horizon, TrainingRecord, ViewRecord
from hmas.storage.retention import RetentionAges, apply_retention
from hmas.storage.store import Store
from tests.storage.support import (
    audit,
    calibration,
    decision,
    directive,
    finished,
    guard_event,
    learned,
    override,
    prompt,
    resume,
    view,
)

HOUR_S, DAY_S = 3600.0, 86_400.0
NOW_S = 1000 * DAY_S
AGES = RetentionAges(short_views_h=1.0)


def minutes(store: Store, engine_id: str = "engine0") -> list[ViewRecord]:
    return store.views(engine_id, Horizon.SHORT_MINUTE)


def test_a_young_store_is_left_alone(store: Store) -> None:
    store.append([view(NOW_S - 60.0), finished(at_s=NOW_S - DAY_S), override(expires_at_s=NOW_S)])
    report = apply_retention(store, AGES, NOW_S)
    assert report.sentence == "nothing is old enough"
    assert (report.rolled_up, report.minutes, report.deleted) == (0, 0, {})
    assert len(store.views("engine0", Horizon.SHORT)) == 1


def test_requests_to_learn_from_go_by_age_and_by_number(store: Store) -> None:
    old = [learned(f"old{number}", NOW_S - 100 * DAY_S) for number in range(3)]
    young = [learned(f"young{number}", NOW_S - number) for number in range(5)]
    store.append([*old, *young])
    ages = RetentionAges(training_d=90.0, training_rows=2)
    report = apply_retention(store, ages, NOW_S)
    assert report.deleted == {"training": 3, "surplus training": 3}
    assert [record.id for record in store.training()] == ["young0", "young1"]


def test_of_too_many_the_oldest_go(store: Store) -> None:
    store.append([learned(f"t{number}", at_s=float(number)) for number in range(10)])
    assert store.expire_beyond(TrainingRecord, 20, 5) == 0
    assert store.expire_beyond(TrainingRecord, 4, 5) == 5
    assert store.expire_beyond(TrainingRecord, 4, 5) == 1
    assert [record.id for record in store.training()] == ["t9", "t8", "t7", "t6"]
    assert store.expire_beyond(TrainingRecord, 0, 5) == 4


def test_old_short_views_become_minutes(store: Store) -> None:
    start_s = NOW_S - 2 * HOUR_S
    old = [view(start_s + second, payload={"waiting": second}) for second in range(120)]
    store.append([*old, view(start_s, engine_id="other"), view(NOW_S - 60.0)])
    report = apply_retention(store, AGES, NOW_S, batch_size=50)
    assert report.sentence == "rolled 121 short views up into 3 minutes"
    assert len(store.views("engine0", Horizon.SHORT)) == 1
    newest, oldest = minutes(store)
    assert oldest.payload == {
        "count": 60,
        "fields": {"waiting": {"count": 60, "mean": 29.5, "max": 59.0}},
    }
    assert newest.payload["fields"]["waiting"]["max"] == 119.0
    assert len(minutes(store, "other")) == 1


def test_a_minute_that_is_not_over_waits(store: Store) -> None:
    limit_s = NOW_S - HOUR_S
    store.append([view(limit_s - 1.0), view(limit_s + 1.0)])
    assert apply_retention(store, AGES, NOW_S + 30.0).rolled_up == 1
    assert apply_retention(store, AGES, NOW_S + 60.0).rolled_up == 1


def test_views_that_come_late_join_their_minute(store: Store) -> None:
    at_s = NOW_S - 2 * HOUR_S
    store.append([view(at_s, payload={"waiting": 1})])
    apply_retention(store, AGES, NOW_S)
    store.append([view(at_s + 5.0, payload={"waiting": 3})])
    apply_retention(store, AGES, NOW_S)
    [minute] = minutes(store)
    assert minute.payload["fields"]["waiting"] == {"count": 2, "mean": 2.0, "max": 3.0}


def test_every_kind_goes_at_its_own_age(store: Store) -> None:
    def old(days: float) -> float:
        return NOW_S - days * DAY_S - 1.0

    store.append(
        [
            view(old(30.0), horizon=Horizon.SHORT_MINUTE),
            view(old(30.0), horizon=Horizon.LONG),
            *(finished(f"r{number}", old(14.0)) for number in range(7)),
            decision(at_s=old(90.0)),
            directive(1, issued_at_s=old(30.0)),
            directive(2, issued_at_s=old(30.0)),
            guard_event(old(90.0)),
            override(revoked_at_s=old(365.0)),
            audit(at_s=old(365.0)),
        ]
    )
    report = apply_retention(store, AGES, NOW_S, batch_size=3)
    assert report.deleted == {
        "view_short_minute": 1,
        "view_long": 1,
        "request": 7,
        "decision": 1,
        "directive": 1,
        "guard_event": 1,
        "override": 1,
        "audit": 1,
    }
    assert report.sentence.startswith("deleted 1 view_short_minute, 1 view_long, 7 request")
    assert store.last_version("engine0") == 2


def test_what_a_restart_needs_is_never_deleted(store: Store) -> None:
    store.append([resume(updated_at_s=0.0), calibration(updated_at_s=0.0)])
    store.append([prompt(created_at_s=0.0), directive(1, issued_at_s=0.0), override()])
    assert apply_retention(store, AGES, NOW_S).deleted == {}
    assert store.resume("engine0") is not None
    assert store.calibration("engine0")
    assert store.active_prompt("meta_controller") is not None
    assert store.active_overrides(NOW_S)
    assert store.last_version("engine0") == 1
