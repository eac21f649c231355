"""Token counts out of the tail of an answer: the ``usage`` object, where the engine sent one."""

from __future__ import annotations

from json import JSONDecodeError, JSONDecoder
from typing import Final, NamedTuple

TAIL_BYTES: Final = 8192

_decoder = JSONDecoder()
_KEY: Final = '"usage"'


class Usage(NamedTuple):
    """Tokens as the engine counted them."""

    prompt_tokens: int
    output_tokens: int


def find_usage(tail: bytes) -> Usage | None:
    """The last readable ``usage`` object in ``tail`` (of a JSON body or of an event stream)."""
    text = tail[-TAIL_BYTES:].decode("utf-8", "ignore")
    end = len(text)
    while (at := text.rfind(_KEY, 0, end)) >= 0:
        usage = _read(text, at + len(_KEY))
        if usage is not None:
            return usage
        end = at
    return None


def _read(text: str, at: int) -> Usage | None:
    start = text.find("{", at)
    if start < 0 or text[at:start].strip() != ":":
        return None
    try:
        fields = _decoder.raw_decode(text, start)[0]
    except (JSONDecodeError, RecursionError):
        return None
    prompt = _count(fields, "prompt_tokens", "input_tokens")
    if prompt is None:
        return None
    return Usage(prompt, _count(fields, "completion_tokens", "output_tokens") or 0)


def _count(fields: dict[str, object], *names: str) -> int | None:
    for name in names:
        value = fields.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 2**31:
            return value
    return None
