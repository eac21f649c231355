"""The outermost layer: names, sizes."""

from __future__ import annotations

import pytest

from hmas.daemon.admin.edge import MAX_BODY_BYTES, host_name, read_body
from hmas.daemon.admin.edge import replay as replayed


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("localhost:8002", "localhost"),
        ("LOCALHOST", "localhost"),
        ("[::1]:8002", "[::1]"),
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.1.evil.example:80", "127.0.0.1.evil.example"),
        ("", ""),
    ],
)
def test_host_names(header: str, name: str) -> None:
    assert host_name(header) == name


class Chunks:
    """A client that sends its body in pieces and then goes away."""

    def __init__(self, *pieces: bytes) -> None:
        self._messages = [
            {"type": "http.request", "body": piece, "more_body": True} for piece in pieces
        ]
        self._messages.append({"type": "http.disconnect"})

    async def __call__(self) -> dict[str, object]:
        return self._messages.pop(0)


async def test_a_body_in_pieces_is_put_together_and_given_on() -> None:
    client = Chunks(b"ab", b"cd")
    body = await read_body(client)
    assert body == b"abcd"
    again = replayed(body, Chunks())
    assert (await again())["body"] == b"abcd"
    assert (await again())["type"] == "http.disconnect"


async def test_a_body_without_a_length_is_cut_off_too() -> None:
    piece = b"x" * (MAX_BODY_BYTES // 2)
    assert await read_body(Chunks(piece, piece, b"!")) is None
