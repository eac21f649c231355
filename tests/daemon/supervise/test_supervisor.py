"""Children are started, watched, restarted and stopped; none of them is left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from hmas.daemon.supervise.child import Child, ChildSpec, log_tail
from hmas.daemon.supervise.supervisor import Change, Phase, StartError, Supervisor
from hmas.daemon.tasks import Tasks
from tests.daemon.control.support import until

SERVE = """\
import http.server, os, signal, sys
print("serving", flush=True)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), http.server.SimpleHTTPRequestHandler)\
.serve_forever()
"""
STUBBORN = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"  # noqa: E501


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


def spec(
    directory: Path, name: str, code: str, *arguments: str, port: int = 1, grace_s: float = 10.0
) -> ChildSpec:
    argv: Sequence[str] = (sys.executable, "-c", code, *arguments)
    log = directory / "logs" / f"{name}.log"
    url = f"http://127.0.0.1:{port}/"
    return ChildSpec(name, argv, dict(os.environ), log, url, grace_s)


def server(directory: Path, name: str) -> ChildSpec:
    port = free_port()
    return spec(directory, name, SERVE, str(port), port=port)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return stat[0] != "Z"


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


async def test_a_stubborn_child_is_killed_after_its_grace(tmp_path: Path) -> None:
    child = await Child.start(spec(tmp_path, "stubborn", STUBBORN, grace_s=0.2))
    await until(lambda: "up" in log_tail(child.spec.log), "started")
    await child.stop()
    assert child.exit_code == -signal.SIGKILL


async def test_what_a_child_started_ends_with_it(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys, time\n"
        "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "print(p.pid, flush=True)\ntime.sleep(600)\n"
    )
    child = await Child.start(spec(tmp_path, "parent", code))
    await until(lambda: log_tail(child.spec.log).strip().isdigit(), "grandchild started")
    grandchild = int(log_tail(child.spec.log))
    await child.stop()
    await until(lambda: not is_alive(grandchild), "the grandchild is gone")


def test_children_do_not_outlive_a_killed_supervisor(tmp_path: Path) -> None:
    program = (
        "import asyncio, sys\nfrom pathlib import Path\n"
        "from hmas.daemon.supervise.child import Child, ChildSpec\n"
        "async def main():\n"
        "    argv = (sys.executable, '-c', 'import time; time.sleep(600)')\n"
        "    child = await Child.start(ChildSpec('c', argv, {}, Path(sys.argv[1]), ''))\n"
        "    print(child.pid, flush=True)\n"
        "    await asyncio.sleep(600)\n"
        "asyncio.run(main())\n"
    )
    argv = [sys.executable, "-c", program, str(tmp_path / "c.log")]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert is_alive(pid)
        parent.kill()
    asyncio.run(until(lambda: not is_alive(pid), "the child is gone"))


def test_the_end_of_a_log_is_short(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    assert log_tail(log) == ""
    log.write_text("".join(f"line {number}\n" for number in range(5000)))
    assert log_tail(log, 2) == "line 4998\nline 4999"
