"""What the demo says while it works: a live bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from hmas.bench.live import OnProgress
from hmas.bench.live import Progress as Reached
from hmas.daemon.supervise.supervisor import Change

LINE_EVERY_S = 10.0


class ProgressLine:
    """Writes to one console, standard error in the demo."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def say(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)

    def child(self, change: Change) -> None:
        """A supervised process changed its state."""
        detail = f" {change.detail}" if change.detail else ""
        self.say(f"{change.name}: {change.phase}{detail}")

    @contextmanager
    def run(self, name: str) -> Iterator[OnProgress]:
        """Progress of one replay."""
        if not self._console.is_terminal:
            yield Lines(self, name, words)
            return
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[said]}"))
        with Progress(*columns, console=self._console) as bar:
            task = bar.add_task(name, total=None, said="")

            def update(reached: Reached) -> None:
                said = words(reached)
                bar.update(task, total=reached.requests, completed=reached.done, said=said)

            yield update


class Lines:
    """One line every few seconds and one at the end."""

    def __init__(
        self,
        line: ProgressLine,
        name: str,
        describe: Callable[[Reached], str],
        every_s: float = LINE_EVERY_S,
    ) -> None:
        self._line = line
        self._name = name
        self._describe = describe
        self._every_s = every_s
        self._next_s = 0.0

    def __call__(self, reached: Reached) -> None:
        if reached.elapsed_s >= self._next_s or reached.done == reached.requests:
            self._next_s = reached.elapsed_s + self._every_s
            self._line.say(f"{self._name}: {self._describe(reached)}")


def words(reached: Reached) -> str:
    """How far a replay is, and how well it went so far."""
    share = f"{reached.within_slo / reached.done:.0%} in time" if reached.done else "waiting"
    lost = f", {reached.failed} lost" if reached.failed else ""
    return f"{reached.elapsed_s:4.0f} s, {reached.done} of {reached.requests} done, {share}{lost}"
