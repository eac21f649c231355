"""Child processes for the tests of supervision."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from hmas.daemon.supervise.child import ChildSpec


def spec(
    directory: Path, name: str, code: str, *arguments: str, port: int = 1, grace_s: float = 10.0
) -> ChildSpec:
    argv: Sequence[str] = (sys.executable, "-c", code, *arguments)
    log = directory / "logs" / f"{name}.log"
    url = f"http://127.0.0.1:{port}/"
    return ChildSpec(name, argv, dict(os.environ), log, url, grace_s)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return stat[0] != "Z"
