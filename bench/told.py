"""What the engine is told of each request at its arrival: annotation plus predicted latencies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from hmas.bench.slo import WorkloadRequest
from hmas.controllers.prediction.base import Question
from hmas.controllers.prediction.history import HistoryPredictor
from hmas.engine.events import RequestFinished
from hmas.engine.simulator.sequence import SimRequest


class RequestTeller:
    """Turns a workload into engine requests, one at a time, in order of arrival.

    TTFT and TPOT are predicted as a gateway does that knows nothing of the engine: from what
    finished before. The length prediction is the workload's own.
    """

    def __init__(self, requests: Sequence[WorkloadRequest]) -> None:
        self._requests = requests
        self._predictor = HistoryPredictor()

    def observe(self, finished: RequestFinished) -> None:
        self._predictor.observe(finished)

    def __iter__(self) -> Iterator[SimRequest]:
        return map(self._told, self._requests)

    def _told(self, request: WorkloadRequest) -> SimRequest:
        features = request.features
        predicted = self._predictor.predict(
            Question(
                features.tenant,
                features.task_type,
                features.prompt_tokens,
                hinted_output_tokens=features.predicted_output_tokens,
            )
        )
        return SimRequest(
            features=msgspec.structs.replace(
                features, predicted_ttft_ms=predicted.ttft_ms, predicted_tpot_ms=predicted.tpot_ms
            ),
            prompt_tokens=features.prompt_tokens,
            output_tokens=request.output_tokens,
            prefix_hashes=request.block_hashes,
        )
