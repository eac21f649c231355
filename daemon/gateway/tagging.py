"""From an HTTP request to its features: the edge between the gateway and perception."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter

from hmas.controllers.perception.chain import Explained, Perception, Source
from hmas.controllers.perception.headers import InvalidClaimError, read_claims
from hmas.controllers.perception.incoming import Incoming, Prompt
from hmas.daemon.gateway.body import GENERATES, Body
from hmas.daemon.gateway.call import Call
from hmas.daemon.gateway.errors import invalid_field
from hmas.daemon.gateway.keys import Client
from hmas.daemon.gateway.lessons import lesson_of
from hmas.engine.features import RequestFeatures, TaskType, encode_features

Claimed = Callable[[Prompt, TaskType], None]


class Tagger:
    """Runs perception on requests that an engine will schedule; ``timer`` says what it took.

    ``claimed`` gets the prompts whose client said the task, and what it said.
    """

    def __init__(
        self,
        perception: Perception,
        timer: Callable[[], float] = perf_counter,
        claimed: Claimed | None = None,
    ) -> None:
        self._perception = perception
        self._timer = timer
        self._claimed = claimed

    def tag(
        self, call: Call, client: Client, headers: Mapping[str, str], body: Body
    ) -> RequestFeatures | None:
        """Features of a generation request, None for the other routes.

        Raises:
            ApiError: 400 naming a header that is out of range.
        """
        explained = self.explain(call, client, headers, body)
        return None if explained is None else explained.features

    def explain(
        self, call: Call, client: Client, headers: Mapping[str, str], body: Body
    ) -> Explained | None:
        """:meth:`tag`, with the source of its answers."""
        if body.route not in GENERATES:
            return None
        started_s = self._timer()
        try:
            claims = read_claims(headers, body.hints(), trusted=client.defaults.trusted)
        except InvalidClaimError as error:
            raise invalid_field(str(error), error.header, "invalid_header") from error
        prompt = body.prompt()
        call.max_output_tokens = body.max_output_tokens
        explained = self._perception.explain(
            Incoming(
                request_id=call.request_id,
                arrival_s=call.arrival_s,
                defaults=client.defaults,
                claims=claims,
                prompt=prompt,
                max_output_tokens=call.max_output_tokens,
                model=body.model,
                temperature=body.envelope.temperature,
            )
        )
        call.features = explained.features
        call.prediction = explained.prediction
        if self._claimed is not None and explained.source is Source.EXPLICIT:
            self._claimed(prompt, explained.features.task_type)
        if client.learns:
            call.lesson = lesson_of(explained.features, body, prompt)
        call.tenant = explained.features.tenant
        call.prompt_bytes = prompt.size_bytes
        call.tagging_s = self._timer() - started_s
        return explained


class FeatureInjector:
    """The body as each kind of engine wants it, encoded at most once per kind."""

    def __init__(self, body: Body, features: RequestFeatures | None) -> None:
        self._body = body
        self._features = features
        self._encoded: dict[tuple[bool, bool], bytes] = {}

    def body(self, *, accepts_features: bool, priority_scheduling: bool) -> bytes:
        kind = (accepts_features, priority_scheduling)
        encoded = self._encoded.get(kind)
        if encoded is None:
            encoded = self._encoded[kind] = self._encode(*kind)
        return encoded

    def _encode(self, accepts_features: bool, priority_scheduling: bool) -> bytes:
        features = self._features
        if features is None or not accepts_features:
            return self._body.without_features()
        vllm_priority = -features.priority if priority_scheduling else None
        return self._body.with_features(encode_features(features), vllm_priority)
