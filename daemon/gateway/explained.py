"""What the gateway would say of a prompt, without a gateway: ``hmas tag``."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Raw

from hmas.controllers.perception.chain import Explained, Source
from hmas.controllers.perception.incoming import TenantDefaults
from hmas.controllers.prediction.base import Prediction
from hmas.daemon.gateway.app import GatewayApp, Surroundings
from hmas.daemon.gateway.body import Body, Route, parse_body
from hmas.daemon.gateway.call import Call
from hmas.daemon.gateway.errors import invalid_field, missing_field
from hmas.daemon.gateway.keys import KeyRing
from hmas.daemon.gateway.settings import GatewaySettings
from hmas.daemon.gateway.tagging import Tagger
from hmas.engine.clock import Clock

ANY_MODEL: Final = "default"
"""The model of lines that name none: predictions then know of no model."""
PATIENCE_MS: Final = 10_000.0
"""Nobody waits in a queue here: answers must not depend on how busy the machine is."""

_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_encode = msgspec.json.Encoder().encode


class Tag(msgspec.Struct, frozen=True, kw_only=True):
    """One line of ``hmas tag``; times in ms, lengths in tokens, ``microseconds`` of tagging.

    ``source`` says who named the task, the SLO pair, the length, its bound and the latencies;
    ``probability`` is None where nobody knows it, ``upper_bound`` where no bound is known.
    """

    line: int
    task_type: str
    probability: float | None
    slo_ttft_ms: float
    slo_tpot_ms: float
    prompt_tokens: int
    predicted_output_tokens: int
    upper_bound: int | None
    predicted_ttft_ms: float
    predicted_tpot_ms: float
    known: bool
    source: dict[str, str]
    microseconds: float


class PromptTagger:
    """Tags bodies as one worker of a gateway with these settings does for anonymous clients."""

    def __init__(self, settings: GatewaySettings, clock: Clock) -> None:
        patient = settings.model_copy(update={"tagging_budget_ms": PATIENCE_MS})
        app = GatewayApp(patient, surroundings=Surroundings(clock=clock, is_punctual=False))
        app.perception.rehearse()
        self._tagger = Tagger(app.perception)
        self._costs = app.costs
        self._client = KeyRing((), settings.anonymous).identify({})
        self._clock = clock

    def tag(self, number: int, line: bytes) -> Tag:
        """The answer to line ``number``: an object with ``prompt`` or ``messages``.

        Raises:
            ApiError: the line cannot be a request; ``param`` names the field.
        """
        body = body_of(line)
        call = Call(str(number), "POST", body.route.value, self._clock.now_s())
        explained = self._tagger.explain(call, self._client, {}, body)
        assert explained is not None
        self._costs.ended(call.request_id)
        features, prediction = explained.features, explained.prediction
        bound = _upper_bound(prediction, body.max_output_tokens)
        return Tag(
            line=number,
            task_type=features.task_type.value,
            probability=explained.probability,
            slo_ttft_ms=features.slo_ttft_ms,
            slo_tpot_ms=features.slo_tpot_ms,
            prompt_tokens=features.prompt_tokens,
            predicted_output_tokens=features.predicted_output_tokens,
            upper_bound=bound,
            predicted_ttft_ms=prediction.ttft_ms,
            predicted_tpot_ms=prediction.tpot_ms,
            known=features.known,
            source={
                "task": explained.source.value,
                "slo": _slo_source(explained, self._client.defaults),
                "length": prediction.length_source,
                "bound": _bound_source(prediction, bound),
                "latency": prediction.latency_source,
            },
            microseconds=round(call.tagging_s * 1e6, 1),
        )


def body_of(line: bytes) -> Body:
    """The body that the line would be sent as, on its route; a model is made up without one.

    Raises:
        ApiError: the line cannot be a request; ``param`` names the field.
    """
    try:
        fields = _decode_fields(line)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise invalid_field(f"not a JSON object: {error}", None, "invalid_json") from error
    if "messages" not in fields and "prompt" not in fields:
        raise missing_field("prompt", "or `messages`: what the model is to answer")
    route = Route.CHAT if "messages" in fields else Route.COMPLETIONS
    return parse_body(route, line if "model" in fields else _with_model(fields))


def _with_model(fields: dict[str, Raw]) -> bytes:
    return _encode({**fields, "model": ANY_MODEL})


def _upper_bound(prediction: Prediction, cap: int | None) -> int | None:
    """Calibrated where truths have come back, else the model's own; never above the cap."""
    predicted = prediction.upper_tokens
    if predicted is None:
        predicted = prediction.quantile_tokens
    known = [bound for bound in (predicted, cap) if bound is not None]
    return min(known, default=None)


def _bound_source(prediction: Prediction, bound: int | None) -> str:
    if bound is None:
        return "none"
    if bound == prediction.upper_tokens:
        return "conformal"
    return "quantile" if bound == prediction.quantile_tokens else "max_tokens"


def _slo_source(explained: Explained, defaults: TenantDefaults) -> str:
    if defaults.slo_ttft_ms is not None and defaults.slo_tpot_ms is not None:
        return Source.TENANT.value
    return f"table of {explained.source.value}"
