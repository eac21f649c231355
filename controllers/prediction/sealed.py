"""Model files: a checksum and MessagePack, so that reading one runs no code."""

from __future__ import annotations

from pathlib import Path
from typing import Final, TypeVar
from zlib import crc32

import msgspec

MAX_BYTES: Final = 16 * 1024 * 1024
CHECKSUM_BYTES: Final = 4

Record = TypeVar("Record", bound=msgspec.Struct)


class CorruptModelError(ValueError):
    """A file that is no model of ours, is damaged, or was made for another version."""


def seal(record: msgspec.Struct) -> bytes:
    payload = msgspec.msgpack.encode(record)
    return crc32(payload).to_bytes(CHECKSUM_BYTES, "little") + payload


def unseal(encoded: bytes, kind: type[Record]) -> Record:
    """The inverse of :func:`seal`.

    Raises:
        CorruptModelError: damaged, cut off, or of another format.
    """
    payload = encoded[CHECKSUM_BYTES:]
    if crc32(payload) != int.from_bytes(encoded[:CHECKSUM_BYTES], "little"):
        raise CorruptModelError("the checksum does not match")
    try:
        return msgspec.msgpack.decode(payload, type=kind)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise CorruptModelError(str(error)) from error


def read_sealed(path: Path) -> bytes:
    """A model file's bytes.

    Raises:
        OSError: it cannot be read.
        CorruptModelError: larger than any model of ours.
    """
    with path.open("rb") as file:
        encoded = file.read(MAX_BYTES + 1)
    if len(encoded) > MAX_BYTES:
        raise CorruptModelError(f"larger than {MAX_BYTES} bytes")
    return encoded
