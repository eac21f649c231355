"""What is wrong with settings: every problem names the key, and the fix where there is one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches


@dataclass(frozen=True, slots=True)
class Problem:
    """One wrong setting: dotted ``key``, where it was given, what is wrong with it."""

    key: str
    origin: str
    message: str

    def __str__(self) -> str:
        where = f" ({self.origin})" if self.origin else ""
        return f"{self.key}{where}: {self.message}"


class SettingsError(ValueError):
    """Settings that cannot be used; ``problems`` lists all that is wrong, not only the first."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


def nearest(name: str, known: Iterable[str]) -> str:
    """``did you mean 'port'?``, or the list of what is known."""
    names = sorted(known)
    close = get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known here: {', '.join(names)}" if names else "nothing can be set here"
