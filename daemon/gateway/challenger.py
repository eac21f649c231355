"""A new file in the challenger's place is a new challenger, without a restart."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

from hmas.controllers.prediction.length import LengthPredictor
from hmas.controllers.prediction.shipped import chosen_file, read_challenger

LOOK_EVERY_S: Final = 5.0

Stamp = tuple[int, int]


class ChallengerFile:
    """Looks at the file that ``length_challenger`` names; reads it in a thread, once a change."""

    def __init__(
        self, choice: str, lengths: LengthPredictor, every_s: float = LOOK_EVERY_S
    ) -> None:
        self._choice = choice
        self._path = chosen_file(choice)
        self._lengths = lengths
        self._every_s = every_s
        self._seen = _stamp(self._path)

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self._every_s)
            await self.look()

    async def look(self) -> None:
        """A file that is gone changes nothing; one that cannot be used is a warning."""
        stamp = await asyncio.to_thread(_stamp, self._path)
        if stamp is None or stamp == self._seen:
            return
        self._seen = stamp
        model = await asyncio.to_thread(read_challenger, self._choice)
        if model is not None:
            self._lengths.duel.challenge(model)


def _stamp(path: Path) -> Stamp | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
