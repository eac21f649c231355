"""What ``hmas doctor`` finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from hmas.daemon.settings import Settings


class Mark(StrEnum):
    OK = "ok"
    NOTE = "note"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: what was found, and what to do about it; ``facts`` are for programs."""

    check: str
    mark: Mark
    detail: str
    fix: str = ""
    facts: Mapping[str, str | float] = field(default_factory=dict)


Check = Callable[[Settings], Iterator[Finding]]
