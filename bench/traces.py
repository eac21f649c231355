"""Readers of public LLM traces: Azure CSV, Mooncake JSONL, BurstGPT CSV."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TextIO

Cells = dict[str, object]


class TraceError(ValueError):
    """A trace file that cannot be replayed; the message names file, line and column."""


@dataclass(frozen=True, slots=True)
class TraceRequest:
    """One request of a trace: when it came, and how many tokens went in and out.

    ``arrival_s`` counts from the first request of its trace. ``source`` is the name of the
    trace (or of the generated service); ``block_hashes`` name shared prompt prefixes.
    """

    arrival_s: float
    prompt_tokens: int
    output_tokens: int
    source: str = ""
    block_hashes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Columns:
    """Where a format keeps what we need, and how it writes time."""

    time: str
    prompt: str
    output: str
    seconds: Callable[[str], float]


def _timestamp_s(text: str) -> float:
    """Seconds since the epoch of an ISO time; one without a zone is UTC."""
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _milliseconds_s(text: str) -> float:
    return float(text) / 1000.0


AZURE = _Columns("TIMESTAMP", "ContextTokens", "GeneratedTokens", _timestamp_s)
BURSTGPT = _Columns("Timestamp", "Request tokens", "Response tokens", float)
MOONCAKE = _Columns("timestamp", "input_length", "output_length", _milliseconds_s)


def read_trace(path: Path, limit: int | None = None) -> list[TraceRequest]:
    """Requests of a file in order of arrival, the first at 0 s; at most the ``limit`` first.

    Requests without any generated token (failed ones in BurstGPT) are left out.

    Raises:
        TraceError: no such file, an unknown format, a bad value, or no request at all.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            requests = list(islice(_served(path, file), limit))
    except OSError as error:
        raise TraceError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TraceError(f"{path}: is not UTF-8 text ({error.reason})") from error
    if not requests:
        raise TraceError(f"{path}: holds no request with generated tokens")
    requests.sort(key=lambda request: request.arrival_s)
    return _from_zero(requests)


def _from_zero(requests: list[TraceRequest]) -> list[TraceRequest]:
    start_s = requests[0].arrival_s
    return [
        TraceRequest(
            request.arrival_s - start_s,
            request.prompt_tokens,
            request.output_tokens,
            request.source,
            request.block_hashes,
        )
        for request in requests
    ]


def _served(path: Path, file: TextIO) -> Iterator[TraceRequest]:
    columns, rows = _detect(path, file)
    for line, cells in rows:
        request = _request(f"{path}:{line}", path.stem, columns, cells)
        if request.output_tokens > 0:
            yield request


def _detect(path: Path, file: TextIO) -> tuple[_Columns, Iterator[tuple[int, Cells]]]:
    """The format by its first line: JSON objects, or a CSV header that we know."""
    first = file.readline()
    if first.lstrip().startswith("{"):
        file.seek(0)
        return MOONCAKE, _json_rows(path, file)
    header = [name.strip() for name in next(csv.reader([first.lstrip("\ufeff")]), [])]
    for columns in (AZURE, BURSTGPT):
        if {columns.time, columns.prompt, columns.output} <= set(header):
            return columns, _csv_rows(path, file, header)
    raise TraceError(
        f"{path}:1: unknown trace format with columns {', '.join(header) or '(none)'}; expected "
        "Azure CSV (TIMESTAMP, ContextTokens, GeneratedTokens), BurstGPT CSV (Timestamp, "
        "Request tokens, Response tokens) or Mooncake JSONL (timestamp, input_length, "
        "output_length)"
    )


def _csv_rows(path: Path, file: TextIO, header: list[str]) -> Iterator[tuple[int, Cells]]:
    for line, row in enumerate(csv.reader(file), start=2):
        if not row:
            continue
        if len(row) != len(header):
            raise TraceError(f"{path}:{line}: {len(row)} columns, the header has {len(header)}")
        yield line, dict(zip(header, row, strict=True))


def _json_rows(path: Path, file: TextIO) -> Iterator[tuple[int, Cells]]:
    for line, text in enumerate(file, start=1):
        if not text.strip():
            continue
        try:
            row = json.loads(text)
        except ValueError as error:
            raise TraceError(f"{path}:{line}: is not JSON: {error}") from error
        if not isinstance(row, dict):
            raise TraceError(f"{path}:{line}: is not a JSON object")
        yield line, row


def _request(where: str, source: str, columns: _Columns, cells: Cells) -> TraceRequest:
    return TraceRequest(
        arrival_s=_time(where, columns, cells),
        prompt_tokens=_count(where, columns.prompt, cells),
        output_tokens=_count(where, columns.output, cells),
        source=source,
        block_hashes=_hashes(where, cells.get("hash_ids", [])),
    )


def _cell(where: str, column: str, cells: Cells) -> object:
    if column not in cells:
        raise TraceError(f"{where}: column {column} is missing")
    return cells[column]


def _time(where: str, columns: _Columns, cells: Cells) -> float:
    value = _cell(where, columns.time, cells)
    try:
        return columns.seconds(str(value))
    except ValueError as error:
        raise TraceError(f"{where}: column {columns.time}: {value!r} is not a time") from error


def _count(where: str, column: str, cells: Cells) -> int:
    value = _cell(where, column, cells)
    try:
        number = float(str(value))
        count = int(number)
    except (ValueError, OverflowError) as error:
        raise TraceError(f"{where}: column {column}: {value!r} is not a number") from error
    if count != number or count < 0:
        raise TraceError(f"{where}: column {column}: {value!r} is not a whole number of tokens")
    return count


def _hashes(where: str, value: object) -> tuple[int, ...]:
    if isinstance(value, list) and all(isinstance(item, int) for item in value):
        return tuple(value)
    raise TraceError(f"{where}: column hash_ids: {str(value)[:80]!r} is not a list of integers")
