from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hmas.controllers.qos.ledger import Entry, Ledger
from hmas.engine.events import Outcome, RequestFinished, RequestShed, ShedReason
from tests.controllers.support import arrived, features, finished, first_token


class Recorder:
    """Keeps every fact as a tuple of its name and the request's id."""

    def __init__(self) -> None:
        self.facts: list[tuple[str, str]] = []
        self.entries: dict[str, Entry] = {}

    def of(self, name: str) -> list[str]:
        return [request_id for fact, request_id in self.facts if fact == name]

    def _keep(self, name: str, entry: Entry | None) -> None:
        request_id = entry.features.request_id if entry else "?"
        self.facts.append((name, request_id))
        if entry:
            self.entries[request_id] = entry

    def arrived(self, at_s: float, entry: Entry) -> None:
        self._keep("arrived", entry)

    def ttft_missed(self, at_s: float, entry: Entry) -> None:
        self._keep("missed", entry)

    def first_token(self, at_s: float, entry: Entry | None, ttft_ms: float) -> None:
        self._keep("first", entry)

    def finished(self, entry: Entry, event: RequestFinished) -> None:
        self._keep("finished", entry)

    def shed(self, at_s: float, entry: Entry) -> None:
        self._keep("shed", entry)


def test_a_miss_counts_when_the_deadline_passes_and_only_once() -> None:
    facts = Recorder()
    ledger = Ledger(facts)
    request = features(slo_ttft_ms=1000)
    ledger.arrive(arrived(request))
    ledger.expire(1.2)
    assert facts.of("missed") == []
    ledger.expire(1.3)
    assert facts.of("missed") == ["r1"]
    ledger.start(first_token(request, 5.0))
    ledger.finish(finished(request, ttft_s=5.0))
    assert facts.of("missed") == ["r1"]
    assert ledger.in_flight == 0


def test_a_request_whose_arrival_was_lost_still_counts_when_it_finishes() -> None:
    facts = Recorder()
    ledger = Ledger(facts)
    ledger.finish(finished(features(), ttft_s=3.0))
    assert facts.facts == [("first", "r1"), ("missed", "r1"), ("finished", "r1")]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), max_size=60))
def test_repeats_from_a_second_source_change_nothing(told: list[tuple[int, int]]) -> None:
    facts = Recorder()
    ledger = Ledger(facts)
    requests = [features(f"r{index}") for index in range(5)]
    for what, index in told:
        request = requests[index]
        match what:
            case 0:
                ledger.arrive(arrived(request))
            case 1:
                ledger.start(first_token(request))
            case 2:
                ledger.finish(finished(request))
            case _:
                reason = ShedReason.SATURATED
                ledger.shed(RequestShed(at_s=1.0, features=request, reason=reason))
    for name in ("arrived", "missed"):
        assert len(facts.of(name)) == len(set(facts.of(name)))
    ends = facts.of("finished") + facts.of("shed")
    assert len(ends) == len(set(ends))
    assert ledger.in_flight <= len(requests)
    assert all(work >= 0 for work in ledger.waiting_work().values())


def test_short_requests_behind_long_ones_are_marked_blocked() -> None:
    facts = Recorder()
    ledger = Ledger(facts)
    for index in range(40):
        request = features(f"warm{index}")
        ledger.arrive(arrived(request))
        ledger.start(first_token(request))
    ledger.arrive(arrived(features("ahead", prompt_tokens=50)))
    assert not facts.entries["ahead"].blocked
    ledger.arrive(arrived(features("long", prompt_tokens=9000)))
    ledger.arrive(arrived(features("short")))
    assert facts.entries["long"].long
    assert facts.entries["short"].blocked
    ledger.start(first_token(features("long")))
    ledger.arrive(arrived(features("after")))
    assert not facts.entries["after"].blocked


def test_waiting_work_is_what_has_not_started() -> None:
    ledger = Ledger(Recorder())
    for name, tenant in (("a", "x"), ("b", "x"), ("c", "y")):
        ledger.arrive(arrived(features(name, tenant=tenant)))
    ledger.start(first_token(features("a", tenant="x")))
    assert ledger.waiting_work() == {"x": 200.0, "y": 200.0}


def test_requests_whose_end_was_lost_are_forgotten() -> None:
    ledger = Ledger(Recorder())
    ledger.arrive(arrived(features("old", 0.0)))
    ledger.arrive(arrived(features("new", 50.0)))
    ledger.forget_before(40.0)
    assert ledger.in_flight == 1
    assert sum(ledger.waiting_work().values()) == 200.0
    ledger.clear()
    assert ledger.in_flight == 0


def test_an_aborted_request_misses_nothing_before_its_deadline() -> None:
    facts = Recorder()
    ledger = Ledger(facts)
    request = features()
    ledger.arrive(arrived(request))
    ledger.finish(finished(request, outcome=Outcome.ABORTED, ttft_s=0.0, output_tokens=0))
    ledger.expire(100.0)
    assert facts.of("missed") == []
