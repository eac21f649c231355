"""Loops over numbers as machine code, for what every request pays for.

A request that comes after a pause finds the processor's caches empty. Then each call into numpy
costs several microseconds, whatever the arrays' size; one compiled loop costs them once.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar, cast

Given = ParamSpec("Given")
Made = TypeVar("Made")


def _may_run_what_it_wrote() -> bool:
    """Whether this process may make memory executable; systemd and SELinux can forbid it."""
    try:
        mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC).close()
    except OSError:
        return False
    return True


CAN_COMPILE: Final = _may_run_what_it_wrote()
"""Without it nothing is compiled: what is then far too slow for a request's way is not used."""
WHY_NOT: Final = (
    "this process may not make memory executable (systemd: MemoryDenyWriteExecute=no allows it)"
)


def compiled(function: Callable[Given, Made]) -> Callable[Given, Made]:
    """``function`` as machine code, compiled at its first call for the types given then.

    It may use numbers, numpy arrays and other compiled functions, and runs without the
    interpreter's lock. The code is kept beside the module, else in the user's cache folder
    (``NUMBA_CACHE_DIR`` names another), so that the next process need not compile; where neither
    can be written, each process compiles. Array bounds are not checked: whoever calls vouches
    for them.
    """
    if not CAN_COMPILE:
        return function
    import numba

    try:
        made = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:
        made = numba.njit(nogil=True)(function)
    return cast(Callable[Given, Made], made)
