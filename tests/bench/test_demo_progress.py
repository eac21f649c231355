from __future__ import annotations

import io

from rich.console import Console

from hmas.bench.demo_progress import ProgressLine, words
from hmas.bench.live import Progress
from hmas.daemon.supervise.supervisor import Change, Phase


def reached(elapsed_s: float, done: int, failed: int = 0) -> Progress:
    return Progress(
        elapsed_s=elapsed_s, sent=done, done=done, failed=failed, within_slo=done // 2, requests=10
    )


def test_words_say_how_well_it_goes() -> None:
    assert words(reached(0.0, 0)) == "   0 s, 0 of 10 done, waiting"
    assert words(reached(12.4, 4)) == "  12 s, 4 of 10 done, 50% in time"
    assert words(reached(12.4, 4, failed=1)).endswith("50% in time, 1 lost")


def test_without_a_terminal_there_is_a_line_now_and_then() -> None:
    out = io.StringIO()
    line = ProgressLine(Console(file=out, width=200))
    line.child(Change("engine", Phase.DIED, "exit 1, again in 1 s"))
    with line.run("H-MAS") as on_progress:
        for elapsed_s in range(30):
            on_progress(reached(float(elapsed_s), elapsed_s // 3))
        on_progress(reached(30.0, 10))
    lines = out.getvalue().splitlines()
    assert lines[0] == "engine: died exit 1, again in 1 s"
    assert [text.split(",")[0] for text in lines[1:]] == [
        "H-MAS:    0 s",
        "H-MAS:   10 s",
        "H-MAS:   20 s",
        "H-MAS:   30 s",
    ]


def test_a_terminal_shows_a_bar() -> None:
    out = io.StringIO()
    line = ProgressLine(Console(file=out, width=120, force_terminal=True))
    with line.run("H-MAS") as on_progress:
        on_progress(reached(3.0, 10))
    assert "10 of 10 done" in out.getvalue()
