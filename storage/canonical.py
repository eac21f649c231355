"""One form for every store: what is appended to memory reads back as it would from disk."""

from __future__ import annotations

from typing import Any

import msgspec

from hmas.storage.errors import RecordRefusedError
from hmas.storage.records import Record

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_encoder = msgspec.json.Encoder()


def canonical(record: Record) -> Record:
    """``record`` with plain JSON payloads, checked against its declared types and bounds.

    NaN and infinities become None, because no SQL JSON holds them and a missing number must
    not cost a whole view; NUL and lone surrogates become U+FFFD, because PostgreSQL refuses
    them.

    Raises:
        RecordRefusedError: not JSON, a required number is NaN, or a field is out of bounds.
    """
    try:
        return msgspec.json.decode(_encoded(record), type=type(record))
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise RecordRefusedError(record.record_kind, str(error)) from error


def _encoded(record: Record) -> bytes:
    try:
        encoded = _encoder.encode(record)
    except UnicodeEncodeError:
        return _encoder.encode(_cleaned(msgspec.to_builtins(record)))
    if b"\\u0000" not in encoded:
        return encoded
    return _encoder.encode(_cleaned(msgspec.json.decode(encoded)))


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return cleaned_text(value)
    if isinstance(value, dict):
        return {_cleaned(name): _cleaned(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(item) for item in value]
    return value


def cleaned_text(text: str) -> str:
    """``text`` without the two things that a database cannot hold."""
    if "\0" in text:
        text = text.replace("\0", REPLACEMENT)
    if text.isascii():
        return text
    return "".join(REPLACEMENT if "\ud800" <= char <= "\udfff" else char for char in text)
