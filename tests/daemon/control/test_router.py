"""Events find the controller they concern."""

from __future__ import annotations

import pytest

from hmas.controllers.engine_controller import EngineController
from hmas.daemon.control.engines import Fleet, ManagedEngine
from hmas.daemon.control.router import EventRouter
from hmas.engine.clock import FakeClock
from hmas.engine.events import (
    Event,
    EventBatch,
    Outcome,
    RequestArrived,
    RequestFinished,
    RequestFirstToken,
    RequestLearned,
    RequestShed,
    ShedReason,
)
from hmas.engine.features import RequestFeatures
from hmas.storage.records import ALL_ENGINES, RequestRecord, TrainingRecord
from tests.daemon.control.support import FakeLink, Records, managed


class Ears(EngineController):
    """A controller that remembers what it heard."""

    def __init__(self, link: FakeLink) -> None:
        super().__init__(link.core.describe())
        self.heard: list[Event] = []
        self.gaps = 0

    def observe(self, event: Event) -> None:
        self.heard.append(event)

    def note_gap(self, batches: int = 1) -> None:
        self.gaps += batches


class Bench:
    def __init__(self, *engine_ids: str, request_sample: float = 1.0) -> None:
        self.clock = FakeClock(50.0)
        self.fleet = Fleet()
        self.records = Records()
        self.router = EventRouter(
            self.fleet, self.clock, self.records, request_sample=request_sample
        )
        for engine_id in engine_ids:
            link = FakeLink(self.clock, engine_id)
            engine = managed(link)
            engine.controller = Ears(link)
            self.fleet.add(engine)

    def engine(self, engine_id: str) -> ManagedEngine:
        engine = self.fleet.get(engine_id)
        assert engine is not None
        return engine

    def heard(self, engine_id: str) -> list[Event]:
        ears = self.engine(engine_id).controller
        assert isinstance(ears, Ears)
        return ears.heard

    def from_engine(self, engine_id: str, *events: Event) -> None:
        self.router.from_engine(self.engine(engine_id), batch(engine_id, "engine", *events))

    def from_gateway(self, *events: Event) -> None:
        self.router.from_gateway(batch("gateway0", "gateway", *events))


def batch(source: str, kind: str, *events: Event) -> EventBatch:
    return EventBatch(
        source=source, kind=kind, boot_id="b", sequence=1, sent_at_s=0.0, events=list(events)
    )


def features(request_id: str) -> RequestFeatures:
    return RequestFeatures(request_id=request_id, arrival_s=1.0)


def arrived(request_id: str) -> RequestArrived:
    return RequestArrived(at_s=1.0, features=features(request_id))


def finished(request_id: str) -> RequestFinished:
    return RequestFinished(
        at_s=2.0,
        features=features(request_id),
        outcome=Outcome.COMPLETED,
        prompt_tokens=10,
        output_tokens=5,
        ttft_s=0.1,
        tpot_s=0.01,
    )


def shed(request_id: str) -> RequestShed:
    return RequestShed(at_s=2.0, features=features(request_id), reason=ShedReason.SATURATED)


def test_engine_events_go_to_their_engine_only() -> None:
    bench = Bench("a", "b")
    bench.from_engine("a", arrived("r1"))
    assert bench.heard("a") == [arrived("r1")]
    assert bench.heard("b") == []
    assert bench.engine("a").last_seen_s == 50.0


def test_gateway_events_go_to_the_engine_that_has_the_request() -> None:
    bench = Bench("a", "b")
    bench.from_engine("b", arrived("r1"))
    bench.from_gateway(RequestFirstToken(at_s=1.5, request_id="r1", ttft_s=0.5), finished("r1"))
    assert len(bench.heard("b")) == 3
    assert bench.heard("a") == []


def test_a_request_of_an_unknown_engine_is_counted() -> None:
    bench = Bench("a", "b")
    bench.from_gateway(finished("r9"))
    assert bench.router.unrouted == 1


def test_with_one_engine_everything_is_its_own() -> None:
    bench = Bench("a")
    bench.from_gateway(arrived("r1"), finished("r1"))
    assert len(bench.heard("a")) == 2


def test_everybody_hears_of_a_shed_request() -> None:
    bench = Bench("a", "b")
    bench.from_gateway(shed("r1"))
    assert bench.heard("a") == bench.heard("b") == [shed("r1")]


def test_finished_and_shed_requests_are_kept_once() -> None:
    bench = Bench("a")
    bench.from_engine("a", finished("r1"))
    bench.from_gateway(finished("r1"), shed("r2"))
    kept = [(record.engine_id, record.key[0]) for record in bench.records.of(RequestRecord)]
    assert kept == [("a", "r1"), (ALL_ENGINES, "r2")]


@pytest.mark.parametrize(("share", "most"), [(0.0, 0), (0.3, 400), (1.0, 1000)])
def test_sampling_keeps_about_its_share(share: float, most: int) -> None:
    bench = Bench("a", request_sample=share)
    bench.from_engine("a", *(finished(f"r{number}") for number in range(1000)))
    kept = len(bench.records.kept)
    assert share * 700 <= kept <= most


def test_a_gap_is_told_to_the_controller_once() -> None:
    bench = Bench("a")
    engine = bench.engine("a")
    engine.link.events.missed_batches = 3
    bench.from_engine("a")
    bench.from_engine("a")
    assert isinstance(engine.controller, Ears)
    assert engine.controller.gaps == 3


def test_before_it_has_described_itself_an_engine_is_only_seen() -> None:
    bench = Bench("a")
    engine = bench.engine("a")
    engine.controller = None
    bench.from_engine("a", finished("r1"))
    assert engine.last_seen_s == 50.0


def test_what_gateways_learned_is_kept_and_no_controller_hears_of_it() -> None:
    bench = Bench("engine0")
    learned = RequestLearned(
        at_s=9.0,
        features=RequestFeatures(request_id="r1", arrival_s=1.0, tenant="acme"),
        prompt_tokens=10,
        output_tokens=20,
        ttft_s=0.1,
        tpot_s=0.01,
        model="tiny",
        session="5f",
        numbers=[1.0],
        words=[7],
    )
    bench.from_gateway(learned)
    (record,) = bench.records.of(TrainingRecord)
    assert isinstance(record, TrainingRecord)
    assert (record.id, record.tenant, record.output_tokens) == ("r1", "acme", 20)
    assert record.payload == {"session": "5f", "numbers": [1.0], "words": [7], "opening": 0}
    assert bench.heard("engine0") == []
