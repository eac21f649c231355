from __future__ import annotations

import msgspec
import pytest

from hmas.controllers.qos.ledger import Entry
from hmas.controllers.qos.long import MAX_GROUPS, OTHER, LongWindow
from hmas.controllers.views import VLong
from hmas.engine.events import Outcome
from hmas.engine.features import TaskType
from tests.controllers.support import features, finished, short, step


def close(window: LongWindow, end_s: float = 10.0) -> VLong:
    return window.view(short(end_s), end_s, completed=True, event_gaps=0)


def serve(window: LongWindow, count: int, *, tpot_s: float = 0.05, **changes: object) -> None:
    for index in range(count):
        request = features(f"r{index}", index * 10 / count, **changes)
        entry = Entry(request)
        window.arrived(request.arrival_s, entry)
        window.first_token(request.arrival_s + 0.1, entry, 100.0)
        window.finished(entry, finished(request, tpot_s=tpot_s))


def test_an_empty_window_measures_nothing() -> None:
    view = close(LongWindow(0.0, {}))
    assert view.rps == 0
    assert view.violation_rate is view.goodput_rate is view.ttft_p95_ms is view.fairness is None
    assert view.hol_index is view.mismatch_mean is view.tokens_per_s is view.unknown_share is None


def test_rates_lengths_and_tails() -> None:
    window = LongWindow(0.0, {})
    serve(window, 50)
    serve(window, 50, tpot_s=0.2, prompt_tokens=1000)
    view = close(window)
    assert view.arrivals == 100
    assert view.rps == pytest.approx(10)
    assert view.rps_variation == pytest.approx(0.0, abs=0.01)
    assert view.prompt.shares == {1: 0.5, 4: 0.5}
    assert view.prompt.mean == pytest.approx(550)
    assert view.prompt.variation == pytest.approx(450 / 550)
    assert view.violation_rate == view.tpot_violation_rate == pytest.approx(0.5)
    assert view.goodput_rate == pytest.approx(0.5)
    assert view.ttft_p95_ms == pytest.approx(100, rel=0.02)
    assert view.tpot_p95_ms == pytest.approx(200, rel=0.02)
    assert view.throughput_per_s == pytest.approx(10)


def test_service_gain_per_second_follows_equation_6() -> None:
    window = LongWindow(0.0, {})
    serve(window, 10)
    assert close(window).esg_per_s == pytest.approx((100 + 2 * 50) * 10 / 10)


def test_composition_by_task_and_tenant() -> None:
    window = LongWindow(0.0, {})
    serve(window, 30, task_type=TaskType.QA, tenant="a")
    serve(window, 10, task_type=TaskType.SUMMARIZATION, tenant="b", tpot_s=0.5)
    view = close(window)
    assert list(view.tasks) == ["QA", "Summarization"]
    assert view.tasks["QA"].share == pytest.approx(0.75)
    assert view.tenants["b"].violation_rate == 1.0
    assert view.tenants["a"].violation_rate == 0.0


def test_tenants_beyond_the_limit_share_a_line() -> None:
    window = LongWindow(0.0, {})
    for index in range(200):
        window.arrived(0.0, Entry(features(f"r{index}", tenant=f"t{index}")))
    view = close(window)
    assert len(view.tenants) == MAX_GROUPS + 1
    assert view.tenants[OTHER].share == pytest.approx((200 - MAX_GROUPS) / 200)


def test_hol_index_is_the_share_of_misses_behind_long_requests() -> None:
    window = LongWindow(0.0, {})
    for index in range(4):
        entry = Entry(features(f"r{index}"))
        entry.blocked = index < 3
        window.ttft_missed(1.0, entry)
    view = close(window)
    assert view.hol_index == pytest.approx(0.75)
    assert view.ttft_violation_rate == 1.0


def test_fairness_ignores_tenants_that_hardly_ask() -> None:
    window = LongWindow(0.0, {"rare": 1e6})
    serve(window, 20, tenant="a")
    serve(window, 20, tenant="b")
    assert close(window).fairness == pytest.approx(1.0)


def test_a_starved_tenant_shows_in_fairness() -> None:
    window = LongWindow(0.0, {})
    serve(window, 20, tenant="a")
    for index in range(20):
        window.arrived(0.0, Entry(features(f"b{index}", tenant="b")))
    fairness = close(window).fairness
    assert fairness is not None
    assert fairness < 0.6


def test_engine_figures_and_mismatch() -> None:
    window = LongWindow(0.0, {})
    window.step(step(1.0, preemptions=3))
    for value in (0.0, 1.0):
        window.cycle(short(mismatch=value, busy_fraction=0.5, kv_used=0.25, waiting=4))
    view = close(window)
    assert view.preemptions == 3
    assert view.tokens_per_s == pytest.approx(11)
    assert view.mismatch_mean == pytest.approx(0.5)
    assert view.mismatch_p95 == 1.0
    assert (view.busy_fraction, view.kv_used, view.waiting) == (0.5, 0.25, 4)


def test_failed_and_shed_count_and_aborted_do_not() -> None:
    window = LongWindow(0.0, {})
    window.shed(1.0, Entry(features("s")))
    window.finished(Entry(features("a")), finished(features("a"), outcome=Outcome.ABORTED))
    view = close(window)
    assert view.samples == view.sheds == 1
    assert view.violation_rate == 1.0


def test_views_travel_as_json() -> None:
    window = LongWindow(0.0, {})
    serve(window, 10)
    view = close(window)
    assert msgspec.json.decode(msgspec.json.encode(view), type=VLong) == view
