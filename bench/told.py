"""What the engine is told of each request at its arrival: annotation plus predicted latencies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from hmas.bench.slo import WorkloadRequest
from hmas.controllers.perception.slo import NEUTRAL_IMPORTANCE, UNKNOWN_SLO, SloPair, slo_targets
from hmas.controllers.prediction.base import Question
from hmas.controllers.prediction.history import HistoryPredictor
from hmas.engine.events import RequestFinished
from hmas.engine.features import RequestFeatures, TaskType
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
        features = self._perceived(request.features)
        predicted = self._predictor.predict(
            Question(
                features.tenant,
                features.task_type,
                features.prompt_tokens,
                hinted_output_tokens=features.predicted_output_tokens or None,
            )
        )
        return SimRequest(
            features=msgspec.structs.replace(
                features,
                predicted_output_tokens=predicted.output_tokens,
                predicted_ttft_ms=predicted.ttft_ms,
                predicted_tpot_ms=predicted.tpot_ms,
            ),
            prompt_tokens=features.prompt_tokens,
            output_tokens=request.output_tokens,
            prefix_hashes=request.block_hashes,
        )

    def _perceived(self, features: RequestFeatures) -> RequestFeatures:
        return features


class StatisticsTeller(RequestTeller):
    """No tags and no length prediction: what finished before stands for every request.

    As the paper's 3.2 falls back: the most frequent task type of late with its base targets,
    and the median output length of the tenant. The request counts as *unknown*.
    """

    def __init__(self, requests: Sequence[WorkloadRequest]) -> None:
        super().__init__(requests)
        self._tasks: Counter[TaskType] = Counter()
        self._of_request = {r.features.request_id: r.features.task_type for r in requests}

    def observe(self, finished: RequestFinished) -> None:
        super().observe(finished)
        self._tasks[self._of_request[finished.features.request_id]] += 1

    def _perceived(self, features: RequestFeatures) -> RequestFeatures:
        targets = self._prior()
        return msgspec.structs.replace(
            features,
            task_type=TaskType.UNKNOWN,
            importance=NEUTRAL_IMPORTANCE,
            slo_ttft_ms=targets.ttft_ms,
            slo_tpot_ms=targets.tpot_ms,
            predicted_output_tokens=0,
            known=False,
        )

    def _prior(self) -> SloPair:
        if not self._tasks:
            return UNKNOWN_SLO
        return slo_targets(self._tasks.most_common(1)[0][0], NEUTRAL_IMPORTANCE)
