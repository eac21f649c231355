"""An engine stand-in for gateway benchmarks: N chunks at a fixed interval, nothing else.

``python -m hmas.engine.simulator.echo --port 8000 --chunks 20 --interval-ms 10`` answers every
POST under ``/v1`` with the same streamed (or, without ``"stream": true``, whole) completion.
It is a bare ``asyncio.Protocol``, so that one core serves several thousand streams a second
and a benchmark measures the gateway, not this.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, cast

from hmas.engine.simulator.openai_api import Reply, usage_of

MODEL: Final = "echo"
PROMPT_TOKENS: Final = 16
MAX_HEAD_BYTES: Final = 64 * 1024
_JSON: Final = "Content-Type: application/json\r\n"
_STREAM: Final = "Content-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n"


def _head(status: str, headers: str) -> bytes:
    return f"HTTP/1.1 {status}\r\n{headers}\r\n".encode()


def _whole(status: str, body: bytes) -> bytes:
    return _head(status, f"{_JSON}Content-Length: {len(body)}\r\n") + body


def _framed(text: str) -> bytes:
    """One HTTP chunk."""
    data = text.encode()
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


class Script:
    """The bytes of an answer, rendered once: ``first`` chunk, ``rest``, and all in one piece."""

    def __init__(self, chunks: int, interval_s: float) -> None:
        reply = Reply("echo", MODEL, 0, chat=True)
        usage = usage_of(PROMPT_TOKENS, chunks)
        pieces = [_framed(reply.chunks(index, index + 1)) for index in range(chunks)]
        pieces[-1] += _framed(reply.last("length", usage)) + b"0\r\n\r\n"
        self.interval_s = interval_s
        self.first = _head("200 OK", _STREAM) + pieces[0]
        self.rest = pieces[1:]
        self.whole = _whole("200 OK", reply.whole(chunks, "length", usage))
        self.total_s = interval_s * chunks
        models = f'{{"object":"list","data":[{{"id":"{MODEL}","object":"model"}}]}}'
        self.get = {b"/health": _whole("200 OK", b""), b"/v1/models": _whole(
            "200 OK", models.encode()
        )}  # fmt: skip
        self.missing = _whole("404 Not Found", b'{"error":{"message":"not here"}}')


class EchoProtocol(asyncio.Protocol):
    """One connection: HTTP/1.1 with Content-Length bodies, requests one after another."""

    def __init__(self, script: Script, loop: asyncio.AbstractEventLoop) -> None:
        self._script = script
        self._loop = loop
        self._received = bytearray()
        self._answering = False
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass of it

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._timer is not None:
            self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        self._received += data
        if not self._answering:
            self._next_request()

    def _next_request(self) -> None:
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            if len(self._received) > MAX_HEAD_BYTES and self._transport is not None:
                self._transport.close()
            return
        head = bytes(self._received[:end])
        size = end + 4 + _content_length(head)
        if len(self._received) < size:
            return
        body = bytes(self._received[end + 4 : size])
        del self._received[:size]
        self._answer(head, body)

    def _answer(self, head: bytes, body: bytes) -> None:
        script = self._script
        method, path, *_ = head.split(b" ", 2)
        if method == b"GET":
            self._done(script.get.get(path, script.missing))
        elif b'"stream":true' in body or b'"stream": true' in body:
            self._answering = True
            self._later(script.interval_s, self._chunk, 0)
        else:
            self._answering = True
            self._later(script.total_s, self._done, script.whole)

    def _chunk(self, index: int) -> None:
        script = self._script
        piece = script.rest[index - 1] if index else script.first
        if index == len(script.rest):
            self._done(piece)
        else:
            self._write(piece)
            self._later(script.interval_s, self._chunk, index + 1)

    def _later(self, delay_s: float, callback: Any, argument: Any) -> None:
        if delay_s > 0:
            self._timer = self._loop.call_later(delay_s, callback, argument)
        else:
            self._loop.call_soon(callback, argument)

    def _done(self, data: bytes) -> None:
        self._write(data)
        self._answering = False
        if self._received:
            self._next_request()

    def _write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)


def _content_length(head: bytes) -> int:
    lower = head.lower()
    start = lower.find(b"\r\ncontent-length:")
    if start < 0:
        return 0
    value = lower[start + 17 :].partition(b"\r\n")[0].strip()
    return int(value) if value.isdigit() else 0


@asynccontextmanager
async def echo_server(
    *, chunks: int = 20, interval_s: float = 0.01, host: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[int]:
    """Serves while entered; yields the port. Raises ValueError for fewer than one chunk."""
    if chunks < 1 or interval_s < 0:
        raise ValueError("chunks must be at least 1, and the interval must not be negative")
    loop = asyncio.get_running_loop()
    script = Script(chunks, interval_s)
    server = await loop.create_server(lambda: EchoProtocol(script, loop), host, port, backlog=1024)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def _serve(arguments: argparse.Namespace) -> None:
    async with echo_server(
        chunks=arguments.chunks, interval_s=arguments.interval_ms / 1000, port=arguments.port
    ) as port:
        print(f"echo on http://127.0.0.1:{port}", flush=True)
        await asyncio.Event().wait()


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m hmas.engine.simulator.echo")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--chunks", type=int, default=20)
    parser.add_argument("--interval-ms", type=float, default=10.0)
    arguments = parser.parse_args(argv)
    try:
        import uvloop
    except ImportError:
        run: Any = asyncio.run
    else:
        run = uvloop.run
    try:
        run(_serve(arguments))
    except KeyboardInterrupt:
        return 0
    except (ValueError, OSError) as error:
        print(f"echo: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
