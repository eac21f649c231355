"""A bounded reading of a prompt out of raw JSON: the cost does not grow with its length."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Raw

from hmas.controllers.perception.incoming import EMPTY_PROMPT, Prompt

MAX_PARSED_BYTES: Final = 1024 * 1024
MAX_PARSED_ITEMS: Final = 4096
"""Longer conversations are read as bytes at both ends, not message by message."""
FEW_ITEMS: Final = 128
"""Of longer ones only so many messages, and parts of a message, are looked into."""
MAX_TEXT_BYTES: Final = 8192
HEAD_BYTES: Final = 2048
TAIL_BYTES: Final = 1024
OTHER_PART_BYTES: Final = 1024
"""What a part that is not text (an image, a sound) counts towards the prompt's size."""

EMPTY: Final = Raw(b"")


class _Message(msgspec.Struct, frozen=True):
    role: Raw = EMPTY
    content: Raw = EMPTY


class _Part(msgspec.Struct, frozen=True):
    text: Raw = EMPTY


_decode_messages = msgspec.json.Decoder(list[_Message]).decode
_decode_message = msgspec.json.Decoder(_Message).decode
_decode_parts = msgspec.json.Decoder(list[_Part]).decode
_decode_part = msgspec.json.Decoder(_Part).decode
_decode_text = msgspec.json.Decoder(str).decode
_decode_list = msgspec.json.Decoder(list[Raw]).decode


def first_byte(field: Raw) -> bytes:
    """``"`` of a string, ``[`` of an array, ``{`` of an object, ``n`` of null."""
    return memoryview(field)[:1].tobytes()


def read_prompt(
    content: Raw, *, system: Raw = EMPTY, tools: Raw = EMPTY, response_format: Raw = EMPTY
) -> Prompt:
    """``content`` is the ``messages``, ``prompt`` or ``input`` of a request; never raises."""
    try:
        return _read(content, system, tools, response_format)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return _from_ends(content)


def _read(content: Raw, system: Raw, tools: Raw, response_format: Raw) -> Prompt:
    read = _read_content(content)
    has_tools = first_byte(tools) == b"[" and len(memoryview(tools)) > 2
    wants_json = b"json" in memoryview(response_format)[:256].tobytes()
    if not has_tools and not wants_json and not system:
        return read
    return msgspec.structs.replace(
        read,
        system=read.system or _text(system),
        size_bytes=read.size_bytes + len(memoryview(system)) + len(memoryview(tools)),
        tools=int(has_tools),
        json_answer=wants_json,
    )


def _read_content(content: Raw) -> Prompt:
    size = len(memoryview(content))
    if first_byte(content) == b'"':
        return Prompt(text=_text(content), size_bytes=size - 2)
    if size > MAX_PARSED_BYTES:
        return _from_ends(content)
    raw = bytes(content)
    inside = raw[1:64].lstrip()[:1]
    if inside.isdigit() or inside == b"[":
        return Prompt(size_bytes=size, token_ids=_count_token_ids(content))
    items = raw.count(b'"' if inside == b'"' else b"{")
    if items > MAX_PARSED_ITEMS:
        return _from_ends(content)
    if inside == b'"':
        return _from_strings(content)
    return _from_many(content) if items > FEW_ITEMS else _from_messages(_decode_messages(content))


def _from_many(content: Raw) -> Prompt:
    """The first message and the last ones; the size of the others is taken from theirs."""
    every = _decode_list(content)
    read = every if len(every) <= FEW_ITEMS else [every[0], *every[1 - FEW_ITEMS :]]
    prompt = _from_messages([_decode_message(message) for message in read])
    if len(read) == len(every):
        return prompt
    share = prompt.size_bytes / sum(len(memoryview(message)) for message in read)
    size = int(share * len(memoryview(content)))
    return msgspec.structs.replace(prompt, size_bytes=size, turns=len(every))


def _from_messages(messages: list[_Message]) -> Prompt:
    if not messages:
        return EMPTY_PROMPT
    last_user, system = messages[-1], EMPTY
    size = 0
    for message in messages:
        size += _content_bytes(message.content)
        role = bytes(message.role)
        if role == b'"user"':
            last_user = message
        elif role in {b'"system"', b'"developer"'} and not system:
            system = message.content
    return Prompt(
        text=_text(last_user.content),
        system=_text(system),
        size_bytes=size,
        turns=len(messages),
    )


def _from_strings(content: Raw) -> Prompt:
    prompts = _decode_list(content)
    size = sum(len(memoryview(prompt)) for prompt in prompts)
    return Prompt(text=_text(prompts[0]), size_bytes=size)


def _from_ends(content: Raw) -> Prompt:
    raw = memoryview(content)
    opening = _loosely(raw[:HEAD_BYTES].tobytes()).partition('"content"')
    head = (opening[2] or opening[0]).lstrip(' :"[{')
    turns = raw[-HEAD_BYTES:].tobytes().count(b'"role"')
    text = head + "\n" + _loosely(raw[-TAIL_BYTES:].tobytes())
    return Prompt(text=text, size_bytes=len(raw), turns=max(1, turns))


def _content_bytes(content: Raw) -> int:
    if first_byte(content) != b"[" or _is_long(content):
        return len(memoryview(content))
    parts = _decode_parts(content)
    return sum(len(memoryview(part.text)) or OTHER_PART_BYTES for part in parts)


def _text(content: Raw) -> str:
    """Text of a JSON string or of an array of parts, from both ends when it is long."""
    if first_byte(content) == b"[":
        texts = [part.text for part in _last_parts(content) if part.text]
        return "\n".join(_text(text) for text in texts[-3:] if first_byte(text) == b'"')
    raw = memoryview(content)
    if first_byte(content) != b'"':
        return ""
    if len(raw) <= MAX_TEXT_BYTES:
        return _decode_text(content)
    return _loosely(raw[1:HEAD_BYTES].tobytes()) + "\n" + _loosely(raw[-TAIL_BYTES:-1].tobytes())


def _last_parts(content: Raw) -> list[_Part]:
    if not _is_long(content):
        return _decode_parts(content)
    return [_decode_part(part) for part in _decode_list(content)[-FEW_ITEMS:]]


def _is_long(content: Raw) -> bool:
    return bytes(content).count(b"{") > FEW_ITEMS


def _loosely(escaped: bytes) -> str:
    text = escaped.decode("utf-8", "ignore")
    return text.replace("\\n", "\n").replace('\\"', '"')


def _count_token_ids(content: Raw) -> int:
    """Numbers in an array (of arrays) of token ids."""
    raw = bytes(content)
    return raw.count(b",") + 1
