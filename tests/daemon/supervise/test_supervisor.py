"""Children are started, watched, restarted and stopped; none of them is left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from pathlib import Path

import pytest

from hmas.daemon.supervise.child import ChildSpec
from hmas.daemon.supervise.supervisor import Change, Phase, StartError, Supervisor
from hmas.daemon.tasks import Tasks
from tests.daemon.control.support import until
from tests.daemon.supervise.programs import is_alive, spec

SERVE = """\
import http.server, os, signal, sys
print("serving", flush=True)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), http.server.SimpleHTTPRequestHandler)\
.serve_forever()
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


def server(directory: Path, name: str) -> ChildSpec:
    port = free_port()
    return spec(directory, name, SERVE, str(port), port=port)


class Bench:
    def __init__(self, *specs: ChildSpec) -> None:
        self.changes: list[Change] = []
        self.supervisor = Supervisor(specs, self.changes.append, Tasks())

    def seen(self, name: str, phase: Phase) -> int:
        return sum(1 for one in self.changes if (one.name, one.phase) == (name, phase))


async def test_all_are_ready_and_stopped_in_reverse_order(tmp_path: Path) -> None:
    bench = Bench(server(tmp_path, "first"), server(tmp_path, "second"))
    await bench.supervisor.start(30.0)
    pids = [bench.supervisor.pid_of(name) for name in ("first", "second")]
    assert all(pid is not None and is_alive(pid) for pid in pids)
    await bench.supervisor.stop()
    stopped = [one.name for one in bench.changes if one.phase is Phase.STOPPED]
    assert stopped == ["second", "first"]
    assert not any(is_alive(pid) for pid in pids if pid is not None)


async def test_one_that_dies_is_started_again(tmp_path: Path) -> None:
    bench = Bench(server(tmp_path, "engine"))
    await bench.supervisor.start(30.0)
    first = bench.supervisor.pid_of("engine")
    assert first is not None
    os.kill(first, signal.SIGKILL)
    await until(lambda: bench.seen("engine", Phase.READY) == 2, "ready again")
    assert bench.supervisor.pid_of("engine") != first
    assert [one.detail for one in bench.changes if one.phase is Phase.DIED] == [
        "exit -9, again in 1 s"
    ]
    await bench.supervisor.stop()


async def test_one_that_can_never_start_ends_it_with_its_log(tmp_path: Path) -> None:
    code = "import sys; print('gateway.port: unknown key', flush=True); sys.exit(2)"
    bench = Bench(spec(tmp_path, "gateway", code))
    with pytest.raises(StartError, match=r"(?s)gateway ended with 2.*gateway\.port: unknown key"):
        await bench.supervisor.start(30.0)
    await bench.supervisor.stop()


async def test_one_that_never_answers_is_named(tmp_path: Path) -> None:
    bench = Bench(spec(tmp_path, "console", "import time; time.sleep(600)"))
    with pytest.raises(StartError, match=r"console: not ready after 0\.3 s"):
        await bench.supervisor.start(0.3)
    await bench.supervisor.stop()


async def test_it_runs_until_told_to_stop(tmp_path: Path) -> None:
    bench = Bench(server(tmp_path, "engine"))
    await bench.supervisor.start(30.0)
    stop = asyncio.Event()
    asyncio.get_running_loop().call_later(0.05, stop.set)
    await bench.supervisor.run_until(stop)
    await bench.supervisor.stop()
