"""One child process: started so that it cannot outlive us, stopped with all that it started."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

PR_SET_PDEATHSIG: Final = 1
LOG_TAIL_BYTES: Final = 4096


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """What to run. ``ready_url`` answers with a status below 500 once it serves.

    ``grace_s``: what it gets to finish after SIGTERM.
    """

    name: str
    argv: Sequence[str]
    environ: Mapping[str, str]
    log: Path
    ready_url: str
    grace_s: float = 10.0


_libc = ctypes.CDLL(None)


def die_with(parent: int) -> None:
    """In the child: SIGTERM when the parent is gone, however it ended."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)


class Child:
    """A running process in a group of its own; its output goes to its log file."""

    def __init__(self, spec: ChildSpec, process: asyncio.subprocess.Process) -> None:
        self.spec = spec
        self._process = process

    @classmethod
    async def start(cls, spec: ChildSpec) -> Child:
        """Raises OSError: it cannot be run, or its log cannot be written."""
        spec.log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with spec.log.open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *spec.argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=dict(spec.environ),
                start_new_session=True,
                preexec_fn=partial(die_with, os.getpid()),
            )
        return cls(spec, process)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative: the signal that ended it."""
        return self._process.returncode

    async def wait(self) -> int:
        return await self._process.wait()

    async def stop(self) -> None:
        """SIGTERM, and SIGKILL for the whole group after its grace."""
        self._signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(self.spec.grace_s):
                await self._process.wait()
        except TimeoutError:
            pass
        self._signal(signal.SIGKILL)
        await self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            return


def log_tail(path: Path, lines: int = 8) -> str:
    """The last lines of a log, for an error message."""
    try:
        with path.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(0, size - LOG_TAIL_BYTES))
            text = log.read().decode("utf-8", "replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-lines:])
