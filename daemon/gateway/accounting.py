"""What the gateway tells of every request: events to the daemon, metrics, one log line."""

from __future__ import annotations

import logging

import msgspec
from msgspec import structs

from hmas.controllers.perception.chain import Perception
from hmas.daemon.gateway.call import Call
from hmas.daemon.gateway.costs import GatewayCosts
from hmas.daemon.gateway.learning import LiveScores
from hmas.daemon.gateway.lessons import learned
from hmas.daemon.gateway.link import GatewayLink
from hmas.daemon.gateway.metrics import GatewayMetrics
from hmas.daemon.gateway.usage import Usage
from hmas.engine.clock import Clock
from hmas.engine.events import (
    Outcome,
    RequestArrived,
    RequestFinished,
    RequestFirstToken,
    RequestShed,
)
from hmas.engine.features import RequestFeatures

access_log = logging.getLogger("hmas.gateway.access")

_encode = msgspec.json.Encoder().encode


class Accounting:
    """Turns finished calls into events, metrics, log lines and perception's experience."""

    def __init__(
        self,
        perception: Perception,
        metrics: GatewayMetrics,
        link: GatewayLink | None,
        clock: Clock,
        *,
        costs: GatewayCosts,
        scores: LiveScores,
        log_requests: bool = True,
    ) -> None:
        self._perception = perception
        self._metrics = metrics
        self._link = link
        self._clock = clock
        self._costs = costs
        self._scores = scores
        self._log_requests = log_requests

    def arrived(self, features: RequestFeatures) -> None:
        if self._link is not None:
            self._link.put(RequestArrived(at_s=features.arrival_s, features=features))

    def first_token(self, call: Call) -> None:
        """The first byte of a generated answer; the truth of queueing is the engine's."""
        if call.features is None:
            return
        self._costs.first_token(call)
        event = RequestFirstToken(
            at_s=self._clock.now_s(), request_id=call.request_id, ttft_s=call.ttft_s
        )
        if self._link is not None:
            self._link.put(event)
        if call.engine is not None and call.engine.pump is not None:
            call.engine.pump.publish(structs.replace(event, queue_s=call.queue_s))

    def finished(self, call: Call) -> None:
        """The call is over, however it ended; called exactly once per request."""
        metrics = self._metrics
        model, tenant = metrics.model(call.model), metrics.tenant(call.tenant)
        metrics.requests.labels(call.route, tenant, model, call.status or "aborted").inc()
        usage = call.usage() if call.outcome is not None else None
        if call.shed is not None:
            self._shed(call)
        elif call.outcome is not None and call.engine is not None:
            self._served(call, usage, model, tenant)
        if call.features is not None:
            self._costs.ended(call.request_id)
        if self._log_requests and access_log.isEnabledFor(logging.INFO):
            access_log.info("%s", _line(call, usage))

    def _shed(self, call: Call) -> None:
        assert call.shed is not None
        self._metrics.shed.labels(call.shed.value).inc()
        if self._link is None:
            return
        features = call.features or RequestFeatures(
            request_id=call.request_id, arrival_s=call.arrival_s, tenant=call.tenant or "default"
        )
        self._link.put(RequestShed(at_s=self._clock.now_s(), features=features, reason=call.shed))

    def _served(self, call: Call, usage: Usage | None, model: str, tenant: str) -> None:
        assert call.engine is not None
        assert call.outcome is not None
        self._metrics.tagging.observe(call.tagging_s)
        self._metrics.outcomes.labels(tenant, model, call.outcome.value).inc()
        if call.features is None:
            return
        finished = _truth(call, usage, self._clock.now_s())
        if self._link is not None:
            self._link.put(finished)
        if call.engine.pump is not None:
            call.engine.pump.finished(call, finished, counted=usage is not None)
        self._costs.measured(call, finished)
        if call.outcome is Outcome.COMPLETED:
            if usage is not None:
                self._perception.observe(finished, call.prompt_bytes)
                self._learn(call, finished)
            self._scores.observe(call, finished, counted=usage is not None)
            self._measure(call, finished, model, tenant)

    def _learn(self, call: Call, finished: RequestFinished) -> None:
        if call.lesson is not None and self._link is not None:
            self._link.put(learned(call.lesson, finished))

    def _measure(self, call: Call, finished: RequestFinished, model: str, tenant: str) -> None:
        assert call.engine is not None
        served, features = self._metrics.served(tenant, model, call.engine.id), finished.features
        served.duration.observe(call.total_s)
        served.prompt_tokens.inc(finished.prompt_tokens)
        served.output_tokens.inc(finished.output_tokens)
        if not call.streamed:
            return
        served.ttft.observe(finished.ttft_s)
        if features.predicted_ttft_ms > 0:
            served.predicted_ttft.observe(features.predicted_ttft_ms / 1000)
        if finished.tpot_s > 0:
            served.tpot.observe(finished.tpot_s)
        if features.predicted_tpot_ms > 0:
            served.predicted_tpot.observe(features.predicted_tpot_ms / 1000)


def _truth(call: Call, usage: Usage | None, now_s: float) -> RequestFinished:
    """Lengths as the engine counted them, else the prompt's estimate and the events seen."""
    assert call.features is not None
    assert call.outcome is not None
    output_tokens = usage.output_tokens if usage is not None else call.events()
    return RequestFinished(
        at_s=now_s,
        features=call.features,
        outcome=call.outcome,
        prompt_tokens=usage.prompt_tokens if usage is not None else call.features.prompt_tokens,
        output_tokens=output_tokens,
        ttft_s=call.ttft_s,
        tpot_s=call.tpot_s(output_tokens),
    )


def _line(call: Call, usage: Usage | None) -> str:
    """One JSON object; of the request's text nothing."""
    features = call.features
    line = {
        "request_id": call.request_id,
        "method": call.method,
        "path": call.path,
        "status": call.status,
        "tenant": call.tenant,
        "model": call.model,
        "engine": call.engine.id if call.engine is not None else None,
        "task_type": features.task_type if features is not None else None,
        "outcome": call.outcome,
        "dropped": call.shed,
        "code": call.code or None,
        "stream": call.streamed,
        "prompt_tokens": usage.prompt_tokens if usage is not None else None,
        "output_tokens": usage.output_tokens if usage is not None else None,
        "queue_ms": round(call.queue_s * 1000, 3),
        "ttft_ms": round(call.ttft_s * 1000, 3),
        "total_ms": round(call.total_s * 1000, 3),
    }
    return _encode(line).decode()
