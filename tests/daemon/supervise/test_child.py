"""One child: it ends when told, with all that it started, and never outlives us."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

from hmas.daemon.supervise.child import Child, log_tail
from tests.daemon.control.support import until
from tests.daemon.supervise.programs import is_alive, spec

STUBBORN = (
    "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); "
    "time.sleep(600)"
)


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
