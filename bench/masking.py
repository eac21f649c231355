"""Latency masking: ``python -m hmas.bench.masking --html PATH --json``.

A real gateway in front of the echo engine, whose perception's learned stage is made slow on
purpose (``gateway.faults.perception_delay_ms``). Shown is the time from a request's arrival to
its dispatch, as the gateway tells it in ``X-Hmas-Queue-Ms``, against perception's budget.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import aiohttp
import uvloop
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from hmas.bench.html_report import Section, page
from hmas.daemon.gateway.local import LocalGateway, local_gateway
from hmas.daemon.gateway.settings import EngineTarget, Faults, GatewaySettings
from hmas.engine.simulator.echo import MODEL, echo_server

DELAYS_MS: Final = (0.0, 1.0, 5.0, 50.0)
WIDTH_OF_FILES: Final = 140
REQUEST: Final = {"model": MODEL, "prompt": "zq xv", "max_tokens": 1}
"""Rules say nothing of this prompt, so that the learned stage is next."""


@dataclass(frozen=True, slots=True)
class Masked:
    """One delay: times before dispatch in ms, quantiles and the share ``within`` the budget.

    ``asked`` counts requests that waited for the learned stage, ``skipped`` those that went on
    without it because it would have been late.
    """

    delay_ms: float
    budget_ms: float
    requests: int
    asked: int
    skipped: int
    within: float
    p50_ms: float
    p98_ms: float
    p99_ms: float
    longest_ms: float
    waits_ms: tuple[float, ...]


def summary(
    delay_ms: float, budget_ms: float, waits_ms: Sequence[float], asked: int, skipped: int
) -> Masked:
    """The quantiles of ``waits_ms``; raises ValueError when there are none."""
    if not waits_ms:
        raise ValueError("no request was answered")
    ordered = sorted(waits_ms)

    def quantile(share: float) -> float:
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    return Masked(
        delay_ms=delay_ms,
        budget_ms=budget_ms,
        requests=len(ordered),
        asked=asked,
        skipped=skipped,
        within=sum(wait_ms <= budget_ms for wait_ms in ordered) / len(ordered),
        p50_ms=quantile(0.5),
        p98_ms=quantile(0.98),
        p99_ms=quantile(0.99),
        longest_ms=ordered[-1],
        waits_ms=tuple(waits_ms),
    )


async def measure(delay_ms: float, budget_ms: float, requests: int, per_s: float) -> Masked:
    """``requests`` at a steady rate through one gateway whose learned stage takes ``delay_ms``."""
    async with echo_server(chunks=1, interval_s=0.0) as port:
        target = EngineTarget.model_validate({"url": f"http://127.0.0.1:{port}"})
        settings = GatewaySettings(
            engines=(target,),
            access_log=False,
            tagging_budget_ms=budget_ms,
            faults=Faults(perception_delay_ms=delay_ms),
        )
        async with local_gateway(settings) as gateway, aiohttp.ClientSession() as session:
            url = f"{gateway.url}/v1/completions"
            for _ in range(20):
                await _wait_ms(session, url)
            asked, skipped = _counts(gateway)
            waits_ms = await _steadily(session, url, requests, per_s)
            asked_now, skipped_now = _counts(gateway)
    return summary(delay_ms, budget_ms, waits_ms, asked_now - asked, skipped_now - skipped)


def _counts(gateway: LocalGateway) -> tuple[int, int]:
    punctual = gateway.app.learned.punctual
    return (0, 0) if punctual is None else (punctual.asked, punctual.skipped)


async def _steadily(
    session: aiohttp.ClientSession, url: str, requests: int, per_s: float
) -> list[float]:
    started_s = time.perf_counter()

    async def one(number: int) -> float:
        await asyncio.sleep(max(0.0, started_s + number / per_s - time.perf_counter()))
        return await _wait_ms(session, url)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(number)) for number in range(requests)]
    return [task.result() for task in tasks]


async def _wait_ms(session: aiohttp.ClientSession, url: str) -> float:
    async with session.post(url, json=REQUEST) as answer:
        answer.raise_for_status()
        await answer.read()
        return float(answer.headers["X-Hmas-Queue-Ms"])


def conditions(requests: int, per_s: float) -> dict[str, object]:
    """What every number needs beside it."""
    return {
        "command": " ".join(["python -m hmas.bench.masking", *sys.argv[1:]]),
        "date": time.strftime("%Y-%m-%d %H:%M:%S %Z"),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}",
        "python": platform.python_version(),
        "load_average": round(os.getloadavg()[0], 2),
        "requests_each": requests,
        "per_s": per_s,
    }


def chart(measured: Sequence[Masked]) -> Any:
    """Distribution of the time before dispatch for each delay, and the budget as a line."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for one in measured:
        figure.add_trace(
            go.Box(
                y=one.waits_ms,
                name=f"{one.delay_ms:g} ms",
                boxpoints="outliers",
                marker={"size": 3},
            )
        )
    figure.add_hline(y=measured[0].budget_ms, line_dash="dash", annotation_text="budget")
    figure.update_yaxes(title="ms from arrival to dispatch", type="log")
    figure.update_xaxes(title="delay of perception's learned stage")
    figure.update_layout(showlegend=False, height=460)
    return figure


def rows(measured: Sequence[Masked]) -> list[dict[str, object]]:
    """Everything but the single requests."""
    return [
        {name: value for name, value in asdict(one).items() if name != "waits_ms"}
        for one in measured
    ]


def html(measured: Sequence[Masked], origin: dict[str, object]) -> str:
    words = (
        "The learned stage sleeps for the delay. Because its cost is measured, requests go on"
        " without it, as unknown, instead of waiting; it is measured in the background."
    )
    section = Section("Time before dispatch", words, rows(measured), chart(measured))
    return page("Latency masking", ", ".join(f"{k}: {v}" for k, v in origin.items()), [section])


def show(console: Console, measured: Sequence[Masked]) -> None:
    table = Table(title="ms from arrival to dispatch, perception made slow on purpose")
    for column in rows(measured)[0]:
        table.add_column(column, justify="right")
    for row in rows(measured):
        table.add_row(*(f"{v:.3g}" if isinstance(v, float) else str(v) for v in row.values()))
    console.print(table)


def run(
    delays_ms: Sequence[float],
    budget_ms: float,
    requests: int,
    per_s: float,
    report: Callable[[str], None],
) -> list[Masked]:
    measured = []
    for delay_ms in delays_ms:
        report(f"perception takes {delay_ms:g} ms")
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            measured.append(runner.run(measure(delay_ms, budget_ms, requests, per_s)))
    return measured


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 1 when a request paid for a delay beyond the budget."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=1500, help="for each delay")
    parser.add_argument("--per-s", type=float, default=250.0)
    parser.add_argument("--budget-ms", type=float, default=2.0)
    parser.add_argument("--delays-ms", type=float, nargs="+", default=list(DELAYS_MS))
    parser.add_argument("--html", type=Path, help="write a page with the plot")
    parser.add_argument("--json", action="store_true", help="one JSON object and nothing else")
    given = parser.parse_args(arguments)
    console = Console(stderr=given.json, width=None if sys.stdout.isatty() else WIDTH_OF_FILES)
    origin = conditions(given.requests, given.per_s)
    with Progress(console=console, transient=True, disable=given.json) as progress:
        task = progress.add_task("", total=len(given.delays_ms))
        measured = run(
            given.delays_ms,
            given.budget_ms,
            given.requests,
            given.per_s,
            lambda text: progress.update(task, advance=1, description=text),
        )
    holds = all(one.asked == 0 for one in measured if one.delay_ms > one.budget_ms)
    if given.html is not None:
        given.html.parent.mkdir(parents=True, exist_ok=True)
        given.html.write_text(html(measured, origin), encoding="utf-8")
    if given.json:
        found = {**origin, "holds": holds, "measured": rows(measured)}
        sys.stdout.write(json.dumps(found) + "\n")
    else:
        show(console, measured)
        console.print(f"no request paid for a delay beyond the budget: {holds}")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
