"""Which controller hears which event."""

from __future__ import annotations

import logging
from collections import OrderedDict
from zlib import crc32

from hmas.daemon.control.engines import Fleet, ManagedEngine
from hmas.daemon.control.executor import Recorder
from hmas.engine.clock import Clock
from hmas.engine.events import (
    Event,
    EventBatch,
    RequestArrived,
    RequestFinished,
    RequestFirstToken,
    RequestLearned,
    RequestShed,
    StepStats,
)
from hmas.storage.records import ALL_ENGINES, RequestRecord, TrainingRecord

log = logging.getLogger(__name__)

REMEMBERED_REQUESTS = 100_000


class EventRouter:
    """Engine events go to their engine, gateway events to the engine that has the request.

    A shed request never had an engine: every controller hears of it.
    """

    def __init__(
        self, fleet: Fleet, clock: Clock, recorder: Recorder, *, request_sample: float = 1.0
    ) -> None:
        self._fleet = fleet
        self._clock = clock
        self._recorder = recorder
        self._request_sample = request_sample
        self._engine_of: OrderedDict[str, str] = OrderedDict()
        self._missed: dict[str, int] = {}
        self.unrouted = 0

    def from_engine(self, engine: ManagedEngine, batch: EventBatch) -> None:
        """A batch of one engine."""
        engine.last_seen_s = self._clock.now_s()
        if engine.controller is None:
            return
        self._note_gap(engine)
        for event in batch.events:
            if isinstance(event, RequestArrived):
                self._remember(event.features.request_id, engine.engine_id)
            elif isinstance(event, RequestFinished) and self._is_sampled(event):
                self._recorder.submit(RequestRecord.of_finished(engine.engine_id, event))
            engine.controller.observe(event)

    def from_gateway(self, batch: EventBatch) -> None:
        """A batch of one gateway."""
        for event in batch.events:
            if isinstance(event, RequestLearned):
                if self._is_sampled(event):
                    self._recorder.submit(TrainingRecord.of_learned(event))
                continue
            if isinstance(event, RequestShed) and self._is_sampled(event):
                self._recorder.submit(RequestRecord.of_shed(ALL_ENGINES, event))
            for engine in self._hearers(event):
                if engine.controller is not None:
                    engine.controller.observe(event)

    def _is_sampled(self, event: RequestFinished | RequestShed | RequestLearned) -> bool:
        """The same requests on every run and in every process."""
        return crc32(event.features.request_id.encode()) < self._request_sample * 2**32

    def _hearers(self, event: Event) -> list[ManagedEngine]:
        if isinstance(event, StepStats | RequestLearned):
            return []
        engines = list(self._fleet)
        if isinstance(event, RequestShed) or len(engines) <= 1:
            return engines
        engine = self._fleet.get(self._engine_of.get(_request_id(event), ""))
        if engine is None:
            self.unrouted += 1
            return []
        return [engine]

    def _remember(self, request_id: str, engine_id: str) -> None:
        self._engine_of[request_id] = engine_id
        if len(self._engine_of) > REMEMBERED_REQUESTS:
            self._engine_of.popitem(last=False)

    def _note_gap(self, engine: ManagedEngine) -> None:
        known = self._missed.get(engine.engine_id, 0)
        missed = engine.missed_batches
        if missed > known and engine.controller is not None:
            engine.controller.note_gap(missed - known)
        self._missed[engine.engine_id] = missed


def _request_id(event: RequestArrived | RequestFirstToken | RequestFinished) -> str:
    if isinstance(event, RequestFirstToken):
        return event.request_id
    return event.features.request_id
