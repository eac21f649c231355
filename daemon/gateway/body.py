"""Request bodies: read what tagging needs, put the features in, leave the rest as it came."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final

import msgspec
from msgspec import Raw

from hmas.controllers.perception.headers import BodyHints
from hmas.controllers.perception.incoming import Prompt
from hmas.daemon.gateway.errors import ApiError, invalid_field, missing_field
from hmas.daemon.gateway.prompts import first_byte, read_prompt
from hmas.engine.features import XARGS_KEY

ABSENT: Final = Raw(b"")
MAX_HINT_BYTES: Final = 16_384

TokenLimit = Annotated[int, msgspec.Meta(ge=0, le=2**31)]


class Route(StrEnum):
    """Routes whose body the gateway understands."""

    CHAT = "/v1/chat/completions"
    COMPLETIONS = "/v1/completions"
    RESPONSES = "/v1/responses"
    MESSAGES = "/v1/messages"
    EMBEDDINGS = "/v1/embeddings"


CONTENT_FIELD: Final = {
    Route.CHAT: "messages",
    Route.COMPLETIONS: "prompt",
    Route.RESPONSES: "input",
    Route.MESSAGES: "messages",
    Route.EMBEDDINGS: "input",
}

GENERATES: Final = frozenset({Route.CHAT, Route.COMPLETIONS, Route.RESPONSES, Route.MESSAGES})
"""Routes whose requests the engine schedules token by token: these carry features."""


class Envelope(msgspec.Struct, frozen=True):
    """The top level of a body; what nobody here looks into stays raw."""

    model: Annotated[str, msgspec.Meta(min_length=1, max_length=1024)] | None = None
    stream: bool | None = None
    max_tokens: TokenLimit | None = None
    max_completion_tokens: TokenLimit | None = None
    max_output_tokens: TokenLimit | None = None
    n: Annotated[int, msgspec.Meta(ge=1, le=1024)] | None = None
    temperature: float | None = None
    messages: Raw = ABSENT
    prompt: Raw = ABSENT
    input: Raw = ABSENT
    system: Raw = ABSENT
    instructions: Raw = ABSENT
    tools: Raw = ABSENT
    response_format: Raw = ABSENT
    priority: Raw = ABSENT
    service_tier: Raw = ABSENT
    session_id: Raw = ABSENT
    metadata: Raw = ABSENT
    nvext: Raw = ABSENT
    vllm_xargs: Raw = ABSENT

    def content(self, route: Route) -> Raw:
        field: Raw = getattr(self, CONTENT_FIELD[route])
        return field


class _Loose(msgspec.Struct, frozen=True):
    """Any JSON object of which only ``model`` and ``vllm_xargs`` matter."""

    model: str | None = None
    vllm_xargs: Raw = ABSENT


_decode_envelope = msgspec.json.Decoder(Envelope).decode
_decode_loose = msgspec.json.Decoder(_Loose).decode
_decode_object = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_any = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode

UNREADABLE: Final = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)
"""What decoding raises; the last one for names that are no UTF-8, as lone surrogates are."""

_FIELD_OF_MESSAGE = re.compile(r"at `\$\.([A-Za-z_0-9]+)")


@dataclass(frozen=True, slots=True)
class Body:
    """One request body, checked; ``raw`` is what the client sent."""

    raw: bytes
    route: Route
    envelope: Envelope
    model: str

    @property
    def max_output_tokens(self) -> int | None:
        """The client's cap, None when it set none."""
        envelope = self.envelope
        for limit in (
            envelope.max_completion_tokens,
            envelope.max_tokens,
            envelope.max_output_tokens,
        ):
            if limit is not None:
                return limit
        return None

    def prompt(self) -> Prompt:
        envelope = self.envelope
        system = envelope.system if self.route is Route.MESSAGES else envelope.instructions
        return read_prompt(
            envelope.content(self.route),
            system=system,
            tools=envelope.tools,
            response_format=envelope.response_format,
        )

    def hints(self) -> BodyHints:
        """Scheduling fields of the body, decoded loosely."""
        envelope = self.envelope
        metadata = _loose(envelope.metadata)
        agent = _loose(envelope.nvext)
        agent_hints = agent.get("agent_hints") if isinstance(agent, dict) else None
        if not isinstance(agent_hints, dict):
            agent_hints = {}
        return BodyHints(
            priority=_loose(envelope.priority),
            service_tier=_loose(envelope.service_tier),
            session_id=_loose(envelope.session_id),
            metadata=metadata if isinstance(metadata, dict) else {},
            output_tokens=agent_hints.get("osl"),
            agent_priority=agent_hints.get("priority"),
        )

    def with_features(self, encoded: str, vllm_priority: int | None = None) -> bytes:
        """The body for the engine: features under ``vllm_xargs["hmas"]``.

        ``priority`` is sent in vLLM's polarity when given and taken out otherwise. Where the
        client used neither field, its bytes stay as they are and the rest is appended.
        """
        added = b"" if vllm_priority is None else b'"priority":%d,' % vllm_priority
        if not self.envelope.vllm_xargs and not self.envelope.priority:
            end = self.raw.rstrip()[:-1]
            return b'%b,%b"vllm_xargs":{"%b":%b}}' % (
                end,
                added,
                XARGS_KEY.encode(),
                _encode(encoded),
            )
        fields = _decode_object(self.raw)
        fields.pop("priority", None)
        if vllm_priority is not None:
            fields["priority"] = Raw(b"%d" % vllm_priority)
        xargs = _xargs(fields.get("vllm_xargs", ABSENT))
        xargs[XARGS_KEY] = Raw(_encode(encoded))
        fields["vllm_xargs"] = Raw(_encode(xargs))
        return _encode(fields)

    def without_features(self) -> bytes:
        """The body for an engine that refuses unknown fields, or schedules nothing."""
        return without_client_features(self.raw, self.envelope.vllm_xargs, self.envelope.priority)


def parse_body(route: Route, raw: bytes) -> Body:
    """Check the fields that the gateway reads; the engine checks the others.

    Raises:
        ApiError: 400 naming the field.
    """
    try:
        envelope = _decode_envelope(raw)
        if envelope.vllm_xargs or envelope.priority:
            # These are written anew for the engine, with the names of all other fields.
            _decode_object(raw)
    except UNREADABLE as error:
        raise _unreadable(error) from error
    if envelope.model is None:
        raise missing_field("model", "the name of a served model")
    _check_content(route, envelope.content(route))
    if first_byte(envelope.vllm_xargs) not in {b"", b"{", b"n"}:
        raise invalid_field("field `vllm_xargs` must be an object", "vllm_xargs", "invalid_type")
    return Body(raw, route, envelope, envelope.model)


def parse_loosely(raw: bytes) -> tuple[str | None, bytes]:
    """Model and body of a JSON request to a route that is only passed through.

    Features that a client put in itself are taken out: they would speak for the gateway. What
    is not a JSON object goes on untouched.
    """
    try:
        loose = _decode_loose(raw)
        return loose.model, without_client_features(raw, loose.vllm_xargs, ABSENT)
    except UNREADABLE:
        return None, raw


def without_client_features(raw: bytes, xargs_field: Raw, priority: Raw) -> bytes:
    xargs = _xargs(xargs_field)
    if XARGS_KEY not in xargs and not priority:
        return raw
    fields = _decode_object(raw)
    fields.pop("priority", None)
    if xargs.pop(XARGS_KEY, None) is not None:
        fields["vllm_xargs"] = Raw(_encode(xargs))
    return _encode(fields)


def _xargs(field: Raw) -> dict[str, Raw]:
    try:
        return _decode_object(field) if field else {}
    except UNREADABLE:
        return {}


def _check_content(route: Route, content: Raw) -> None:
    field = CONTENT_FIELD[route]
    kind = first_byte(content)
    if kind in {b"", b"n"}:
        raise missing_field(field, "what the model is to answer")
    if kind != b"[" and (kind != b'"' or field == "messages"):
        wanted = "an array" if field == "messages" else "a string or an array"
        raise invalid_field(f"field `{field}` must be {wanted}", field, "invalid_type")
    if kind == b"[" and memoryview(content)[1:64].tobytes().strip() == b"]":
        raise invalid_field(f"field `{field}` must not be empty", field, "empty_array")


def _loose(field: Raw) -> object:
    if not field or len(memoryview(field)) > MAX_HINT_BYTES:
        return None
    try:
        return _decode_any(field)
    except UNREADABLE:
        return None


def _unreadable(error: Exception) -> ApiError:
    text = str(error)
    field = _FIELD_OF_MESSAGE.search(text)
    if field is not None:
        name = field.group(1)
        return invalid_field(f"field `{name}`: {text.partition(' - at ')[0]}", name)
    if isinstance(error, msgspec.ValidationError):
        return invalid_field("the request body must be a JSON object", None, "invalid_json")
    return invalid_field(f"the request body is not valid JSON: {text}", None, "invalid_json")
