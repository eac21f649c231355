"""The one thread that writes: loops hand records over and never wait for a disk."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from threading import Condition, Thread
from time import monotonic
from typing import Final

import msgspec

from hmas.engine.clock import Clock
from hmas.storage.buffer import RecordBuffer
from hmas.storage.errors import StoreUnavailableError
from hmas.storage.records import Record
from hmas.storage.store import RecordSink

_log: Final = logging.getLogger(__name__)


class WriterConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How much may wait and how often is tried.

    Attributes:
        capacity: most records that wait; beyond it the least valuable are lost.
        batch_size: most records of one transaction.
        linger_s: how long the first record of a batch waits for others.
        retry_min_s, retry_max_s: pause after a failure, doubled up to the maximum.
    """

    capacity: int = 50_000
    batch_size: int = 500
    linger_s: float = 0.2
    retry_min_s: float = 0.1
    retry_max_s: float = 10.0


class WriterStats(msgspec.Struct, frozen=True, kw_only=True):
    """Counts since the start; ``lost`` by record kind (dropped when full, or refused).

    ``last_error`` is empty while writing works.
    """

    pending: int
    written: int
    lost: dict[str, int]
    failures: int
    last_error: str
    last_write_at_s: float | None


class RecordWriter:
    """Batches records into transactions, in one thread, until :meth:`close`."""

    def __init__(
        self,
        sink: RecordSink,
        clock: Clock,
        config: WriterConfig = WriterConfig(),  # noqa: B008 - frozen
    ) -> None:
        self._sink = sink
        self._clock = clock
        self._config = config
        self._changed = Condition()
        self._buffer = RecordBuffer(config.capacity)
        self._in_flight = 0
        self._flush_wanted = False
        self._closing = False
        self._written = 0
        self._lost: Counter[str] = Counter()
        self._failures = 0
        self._failures_in_a_row = 0
        self._last_error = ""
        self._last_write_at_s: float | None = None
        self._thread = Thread(target=self._run, name="hmas-storage-writer", daemon=True)
        self._thread.start()

    def submit(self, record: Record) -> None:
        """Hands one record over; never waits, never fails because of the database."""
        with self._changed:
            dropped = record if self._closing else self._buffer.put(record)
            if dropped is not None:
                self._lost[dropped.record_kind] += 1
            if len(self._buffer) in (1, self._config.batch_size):
                self._changed.notify_all()

    def stats(self) -> WriterStats:
        with self._changed:
            return WriterStats(
                pending=self._pending,
                written=self._written,
                lost=dict(self._lost),
                failures=self._failures,
                last_error=self._last_error,
                last_write_at_s=self._last_write_at_s,
            )

    def flush(self, timeout_s: float) -> bool:
        """Tries at once instead of lingering; true when nothing waits any more."""
        deadline_s = monotonic() + timeout_s
        with self._changed:
            while self._pending and monotonic() < deadline_s:
                self._flush_wanted = True
                self._changed.notify_all()
                self._changed.wait(min(0.05, max(0.0, deadline_s - monotonic())))
            self._flush_wanted = False
            return self._pending == 0

    def close(self, timeout_s: float = 5.0) -> None:
        """Flushes for at most ``timeout_s``, then stops; what is left is counted as lost."""
        if not self.flush(timeout_s):
            _log.error("storage writer closes with records unwritten: %s", self._last_error)
        with self._changed:
            self._closing = True
            for record in self._buffer.take(self._config.capacity):
                self._lost[record.record_kind] += 1
            self._changed.notify_all()
        self._thread.join(timeout_s)

    @property
    def _pending(self) -> int:
        return len(self._buffer) + self._in_flight

    def _run(self) -> None:
        while batch := self._next_batch():
            self._write(batch)
            with self._changed:
                self._in_flight = 0
                self._changed.notify_all()

    def _next_batch(self) -> list[Record]:
        """Waits for records and a little longer for more; empty when closing."""
        config = self._config
        with self._changed:
            self._changed.wait_for(lambda: self._closing or len(self._buffer) > 0)
            self._changed.wait_for(
                lambda: (
                    self._closing or self._flush_wanted or len(self._buffer) >= config.batch_size
                ),
                config.linger_s,
            )
            batch = self._buffer.take(config.batch_size)
            self._in_flight = len(batch)
            return batch

    def _write(self, batch: Sequence[Record]) -> None:
        """Until written, refused, or closing."""
        while not self._closing:
            try:
                self._sink.append(batch)
            except StoreUnavailableError as error:
                self._note_failure(error)
                self._pause()
            except Exception as error:  # noqa: BLE001
                # The edge of the loop: one bad record must not stop all the others.
                _log.exception("storage cannot take a batch of %d records", len(batch))
                self._note_failure(error)
                self._write_singly(batch)
                return
            else:
                self._note_success(len(batch))
                return
        self._note_lost(batch)

    def _write_singly(self, batch: Sequence[Record]) -> None:
        if len(batch) == 1:
            self._note_lost(batch)
            return
        for record in batch:
            self._write([record])

    def _pause(self) -> None:
        config = self._config
        delay_s = config.retry_min_s * 2 ** min(self._failures_in_a_row - 1, 30)
        longer_s = min(delay_s, config.retry_max_s) - config.retry_min_s
        with self._changed:
            self._changed.wait_for(lambda: self._closing, config.retry_min_s)
            self._changed.wait_for(lambda: self._closing or self._flush_wanted, longer_s)

    def _note_failure(self, error: Exception) -> None:
        with self._changed:
            if not self._last_error:
                _log.warning("storage cannot write, records wait: %s", error)
            self._failures += 1
            self._failures_in_a_row += 1
            self._last_error = str(error) or type(error).__name__

    def _note_success(self, count: int) -> None:
        with self._changed:
            if self._last_error:
                _log.warning("storage writes again; lost so far: %s", dict(self._lost))
            self._written += count
            self._failures_in_a_row = 0
            self._last_error = ""
            self._last_write_at_s = self._clock.now_s()

    def _note_lost(self, records: Sequence[Record]) -> None:
        with self._changed:
            self._lost.update(record.record_kind for record in records)
