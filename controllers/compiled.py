"""Loops over numbers as machine code, for what every request pays for.

A request that comes after a pause finds the processor's caches empty. Then each call into numpy
costs several microseconds, whatever the arrays' size; one compiled loop costs them once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

Given = ParamSpec("Given")
Made = TypeVar("Made")


def compiled(function: Callable[Given, Made]) -> Callable[Given, Made]:
    """``function`` as machine code, compiled at its first call for the types given then.

    It may use numbers, numpy arrays and other compiled functions, and runs without the
    interpreter's lock. The code is kept beside the module, else in the user's cache folder, so
    that the next process need not compile; where neither can be written, each process compiles.
    Array bounds are not checked: whoever calls vouches for them.
    """
    try:
        made = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:
        made = numba.njit(nogil=True)(function)
    return cast(Callable[Given, Made], made)
