"""The writer never blocks or fails its callers; what it could keep, lands."""

from __future__ import annotations

import logging
import os
import sqlite3
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event, Thread
from time import monotonic, sleep

import pytest

from hmas.engine.clock import FakeClock
from hmas.storage.connect import open_store
from hmas.storage.errors import StoreUnavailableError
from hmas.storage.memory import MemoryStore
from hmas.storage.records import Horizon, Record
from hmas.storage.sql import SqlStore
from hmas.storage.store import RecordSink
from hmas.storage.writer import RecordWriter, WriterConfig
from tests.storage.support import audit, directive, finished, view

QUICK = WriterConfig(linger_s=0.01, retry_min_s=0.01, retry_max_s=0.02)


def eventually(holds: Callable[[], bool], timeout_s: float = 10.0) -> None:
    deadline_s = monotonic() + timeout_s
    while not holds():
        assert monotonic() < deadline_s, "did not come true in time"
        sleep(0.005)


class Sink:
    """Keeps records in memory, or fails as told; holds appends while ``gate`` is closed."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.failure: Exception | None = None
        self.batches: list[int] = []
        self.entered = Event()
        self.gate = Event()
        self.gate.set()

    def append(self, records: Sequence[Record]) -> None:
        self.entered.set()
        self.gate.wait(10)
        if self.failure is not None:
            raise self.failure
        self.store.append(records)
        self.batches.append(len(records))


@pytest.fixture
def sink() -> Sink:
    return Sink()


@pytest.fixture
def writing() -> Iterator[Callable[..., RecordWriter]]:
    writers: list[RecordWriter] = []

    def started(
        sink: RecordSink, config: WriterConfig = QUICK, clock: FakeClock | None = None
    ) -> RecordWriter:
        writers.append(RecordWriter(sink, clock or FakeClock(), config))
        return writers[-1]

    yield started
    for writer in writers:
        writer.close(1.0)


Writing = Callable[..., RecordWriter]


def test_records_land_in_batches(sink: Sink, writing: Writing) -> None:
    clock = FakeClock(100.0)
    writer = writing(sink, WriterConfig(batch_size=10, linger_s=5.0), clock)
    for number in range(25):
        writer.submit(finished(f"r{number}"))
    assert writer.flush(10.0)
    assert len(sink.store.requests()) == 25
    assert max(sink.batches) == 10
    stats = writer.stats()
    assert (stats.written, stats.pending, stats.lost, stats.last_error) == (25, 0, {}, "")
    assert stats.last_write_at_s == 100.0


def test_records_are_written_without_being_asked_for(sink: Sink, writing: Writing) -> None:
    writer = writing(sink)
    writer.submit(audit())
    eventually(lambda: writer.stats().written == 1)


def test_submit_does_not_wait_for_a_stuck_database(sink: Sink, writing: Writing) -> None:
    sink.gate.clear()
    writer = writing(sink)
    writer.submit(audit("a0"))
    assert sink.entered.wait(10)
    started_s = monotonic()
    for number in range(1000):
        writer.submit(view(float(number)))
    assert monotonic() - started_s < 1.0
    assert writer.stats().pending == 1001
    assert not writer.flush(0.05)
    sink.gate.set()
    assert writer.flush(10.0)
    assert len(sink.store.views("engine0", Horizon.SHORT, limit=5000)) == 1000


def test_a_full_buffer_loses_samples_and_counts_them(sink: Sink, writing: Writing) -> None:
    sink.failure = StoreUnavailableError("sqlite:///x", "database is locked")
    writer = writing(sink, WriterConfig(capacity=5, batch_size=1, linger_s=0.0))
    writer.submit(audit("first"))
    eventually(lambda: writer.stats().failures > 0)
    for number in range(1, 9):
        writer.submit(view(float(number)))
        writer.submit(directive(number))
    assert writer.stats().lost == {"view": 8, "directive": 3}
    assert writer.stats().pending == 6
    sink.failure = None
    assert writer.flush(10.0)
    assert [d.version for d in sink.store.directives("engine0")] == [8, 7, 6, 5, 4]
    assert sink.store.views("engine0", Horizon.SHORT) == []


def test_an_outage_is_reported_once_and_its_end_too(
    sink: Sink, writing: Writing, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    sink.failure = StoreUnavailableError("sqlite:///x", "disk full")
    writer = writing(sink)
    writer.submit(audit())
    eventually(lambda: writer.stats().failures >= 3)
    assert "disk full" in writer.stats().last_error
    sink.failure = None
    eventually(lambda: writer.stats().written == 1)
    assert writer.stats().last_error == ""
    messages = [record.message for record in caplog.records]
    assert [message[:24] for message in messages] == [
        "storage cannot write, re",
        "storage writes again; lo",
    ]


def test_one_bad_record_costs_only_itself(sink: Sink, writing: Writing) -> None:
    writer = writing(sink, WriterConfig(linger_s=5.0))
    writer.submit(audit("good"))
    writer.submit(view(at_s=1.0, horizon="weekly"))
    writer.submit(directive(1))
    assert writer.flush(10.0)
    assert writer.stats().lost == {"view": 1}
    assert writer.stats().written == 2
    assert sink.store.audit() == [audit("good")]
    assert sink.store.last_version("engine0") == 1


def test_a_fault_nobody_thought_of_does_not_stop_the_thread(sink: Sink, writing: Writing) -> None:
    sink.failure = ZeroDivisionError()
    writer = writing(sink)
    writer.submit(audit("a1"))
    eventually(lambda: writer.stats().lost == {"audit": 1})
    sink.failure = None
    writer.submit(audit("a2"))
    assert writer.flush(10.0)
    assert sink.store.audit() == [audit("a2")]


def test_closing_writes_what_waits_and_refuses_more(sink: Sink) -> None:
    writer = RecordWriter(sink, FakeClock(), WriterConfig(linger_s=60.0))
    writer.submit(audit())
    writer.close(10.0)
    writer.submit(view())
    assert sink.store.audit() == [audit()]
    assert writer.stats().lost == {"view": 1}
    writer.close(10.0)


def test_closing_in_an_outage_ends_in_time_and_counts_the_loss(sink: Sink) -> None:
    sink.failure = StoreUnavailableError("sqlite:///x", "down")
    writer = RecordWriter(sink, FakeClock(), WriterConfig(batch_size=1))
    writer.submit(audit("a1"))
    writer.submit(audit("a2"))
    started_s = monotonic()
    writer.close(0.2)
    assert monotonic() - started_s < 5.0
    assert writer.stats().lost == {"audit": 2}


def test_many_threads_lose_nothing(sink: Sink, writing: Writing) -> None:
    writer = writing(sink)

    def submit_many(name: str) -> None:
        for number in range(200):
            writer.submit(finished(f"{name}-{number}"))

    threads = [Thread(target=submit_many, args=(f"t{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert writer.flush(10.0)
    assert len(sink.store.requests(limit=5000)) == writer.stats().written == 800


def test_a_locked_sqlite_file_only_delays(tmp_path: Path, writing: Writing) -> None:
    url = f"sqlite:///{tmp_path}/hmas.db"
    open_store(url).close()
    store = SqlStore(url, busy_timeout_s=0.02)
    writer = writing(store)
    other = sqlite3.connect(tmp_path / "hmas.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    for number in range(50):
        writer.submit(finished(f"r{number}"))
    eventually(lambda: "locked" in writer.stats().last_error)
    assert writer.stats().written == 0
    other.rollback()
    other.close()
    assert writer.flush(10.0)
    assert len(store.requests()) == 50
    assert writer.stats().lost == {}
    store.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one mebibyte."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount the small file system that this test fills")
    mount = tmp_path / "disk"
    mount.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(mount)]
    mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"mounting is not allowed here: {mounted.stderr.strip()}")
    yield mount
    subprocess.run(["umount", "--lazy", str(mount)], check=True)


def fill(disk: Path) -> Path:
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            return ballast


def test_a_full_disk_only_delays(small_disk: Path, writing: Writing) -> None:
    store = open_store(f"sqlite:///{small_disk}/hmas.db")
    writer = writing(store)
    writer.submit(audit("before"))
    assert writer.flush(10.0)
    ballast = fill(small_disk)
    for number in range(40):
        writer.submit(audit(f"a{number}", result="long " * 400))
    eventually(lambda: "full" in writer.stats().last_error)
    assert store.audit(limit=1)[0].id
    ballast.unlink()
    assert writer.flush(10.0)
    assert len(store.audit(limit=1000)) == 41
    assert writer.stats().lost == {}
    store.close()
