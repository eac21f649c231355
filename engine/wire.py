"""JSON on the wire: one encoder, one typed decoder per direction."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from hmas.engine.directive import ControlReply, ControlRequest
from hmas.engine.events import ControlNotice, EventBatch

T = TypeVar("T")

MAX_MESSAGE_BYTES = 8 * 1024 * 1024


class WireError(ValueError):
    """A message of a peer that this version cannot read."""


_encoder = msgspec.json.Encoder()
_request_decoder: msgspec.json.Decoder[ControlRequest] = msgspec.json.Decoder(ControlRequest)
_reply_decoder: msgspec.json.Decoder[ControlReply] = msgspec.json.Decoder(ControlReply)
_batch_decoder = msgspec.json.Decoder(EventBatch)
_notice_decoder = msgspec.json.Decoder(ControlNotice)


def encode(message: ControlRequest | ControlReply | EventBatch | ControlNotice) -> bytes:
    return _encoder.encode(message)


def _decode(decoder: msgspec.json.Decoder[T], payload: bytes) -> T:
    if len(payload) > MAX_MESSAGE_BYTES:
        raise WireError(f"message of {len(payload)} bytes, at most {MAX_MESSAGE_BYTES}")
    try:
        return decoder.decode(payload)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise WireError(str(error)) from error


def decode_request(payload: bytes) -> ControlRequest:
    """A directive or a question, as the engine receives it.

    Raises:
        WireError: not JSON, not ours, or a field out of range.
    """
    return _decode(_request_decoder, payload)


def decode_reply(payload: bytes) -> ControlReply:
    """An engine's answer. Raises :class:`WireError` as :func:`decode_request` does."""
    return _decode(_reply_decoder, payload)


def decode_batch(payload: bytes) -> EventBatch:
    """Events of an engine or a gateway. Raises :class:`WireError`."""
    return _decode(_batch_decoder, payload)


def decode_notice(payload: bytes) -> ControlNotice:
    """The daemon's notice to gateways. Raises :class:`WireError`."""
    return _decode(_notice_decoder, payload)
