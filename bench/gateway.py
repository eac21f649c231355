"""What the gateway costs: ``make bench-gateway`` or ``python -m hmas.bench.gateway``.

Streamed chat requests against a fixed-timing echo engine, directly, through a bare aiohttp
pass-through, and through the gateway, in turns. The proxy under test has one core to itself,
load and engine share another. Latency added by a proxy is the difference of the quantiles.

The targets are checked on the whole answer and on its first byte. The first byte pays for all that
happens before an engine is asked, in code that lay idle since the last request: where neighbours
empty the machine's caches it takes several times as long, in a bare aiohttp pass-through, too. So
only the whole answer decides the exit status; the first byte's verdict stands beside it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Final

import uvloop
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from hmas.bench.http_load import LoadResult, closed_loop, open_loop

CHUNKS: Final = 20
OPEN_LOOP_PER_S: Final = 100
CLIENTS: Final = (1, 32, 256)
WAIT_S: Final = 20.0
WIDTH_OF_FILES: Final = 140
TARGET_ADDED_P50_MS: Final = 1.0
TARGET_ADDED_P99_MS: Final = 5.0
TARGETS: Final = ("first_byte", "whole_answer", "throughput")
"""What :func:`verdict` judges; the exit code is 0 when all of them hold."""
TARGET_PER_S: Final = 800.0
BODY: Final = json.dumps(
    {
        "model": "echo",
        "messages": [
            {"role": "system", "content": "You are a helpful assistant."},
            {"role": "user", "content": "Summarize the following text in one line. " * 8},
        ],
        "max_tokens": 20,
        "temperature": 0,
        "stream": True,
    }
).encode()
REQUEST: Final = (
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
    b"Authorization: Bearer none\r\nAccept: */*\r\nUser-Agent: bench\r\n"
    b"Content-Length: %d\r\n\r\n" % len(BODY)
) + BODY


@dataclass(frozen=True, slots=True)
class Measured:
    """One target in one scenario: medians over the rounds."""

    target: str
    scenario: str
    requests: int
    failed: int
    per_s: float
    first_byte_p50_ms: float
    first_byte_p99_ms: float
    total_p50_ms: float
    total_p99_ms: float
    cpu_ms_per_request: float


@dataclass(frozen=True, slots=True)
class Round:
    """One measurement and the CPU time that the target's own process took for it."""

    result: LoadResult
    cpu_s: float


@dataclass(frozen=True, slots=True)
class Part:
    """A running process of :mod:`hmas.bench.gateway_parts`."""

    port: int
    pid: int

    def cpu_s(self) -> float:
        """User and system seconds so far: what holds even on a busy machine."""
        stat = Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii")
        fields = stat.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Plan:
    rounds: int
    seconds: float
    interval_ms: float
    cores: tuple[int, int] | None
    classifier: str = "off"
    length_model: str = "off"


def quantile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def summary(target: str, scenario: str, rounds: Sequence[Round]) -> Measured:
    """Medians over rounds of each round's quantiles; failures are summed."""
    results = [turn.result for turn in rounds]
    answered = sum(len(result.timings) for result in results)

    def middle(read: Callable[[LoadResult], float]) -> float:
        return round(median([read(result) for result in results if result.timings] or [0.0]), 3)

    return Measured(
        target=target,
        scenario=scenario,
        requests=answered,
        failed=sum(result.failed for result in results),
        per_s=middle(lambda r: r.per_s),
        first_byte_p50_ms=middle(
            lambda r: 1e3 * quantile([t.first_byte_s for t in r.timings], 0.5)
        ),
        first_byte_p99_ms=middle(
            lambda r: 1e3 * quantile([t.first_byte_s for t in r.timings], 0.99)
        ),
        total_p50_ms=middle(lambda r: 1e3 * quantile([t.total_s for t in r.timings], 0.5)),
        total_p99_ms=middle(lambda r: 1e3 * quantile([t.total_s for t in r.timings], 0.99)),
        cpu_ms_per_request=round(1e3 * sum(t.cpu_s for t in rounds) / max(1, answered), 3),
    )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def part(name: str, core: int | None, **options: object) -> Iterator[Part]:
    """One process of :mod:`hmas.bench.gateway_parts`, answering on its port."""
    port = free_port()
    command = [sys.executable, "-m", "hmas.bench.gateway_parts", name, "--port", str(port)]
    if core is not None:
        command += ["--core", str(core)]
    for option, value in options.items():
        command += [f"--{option.replace('_', '-')}", str(value)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)  # noqa: S603
    try:
        _wait_for(port, process)
        yield Part(port, process.pid)
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + WAIT_S
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise SystemExit(f"the process on port {port} did not start (exit code {process.poll()})")


Load = Callable[[int], LoadResult]


def scenarios(seconds: float) -> dict[str, Load]:
    """Each a function of the target's port."""
    arrivals = [number / OPEN_LOOP_PER_S for number in range(int(seconds * OPEN_LOOP_PER_S))]
    loads: dict[str, Load] = {
        f"open loop, {OPEN_LOOP_PER_S}/s": lambda port: _run(open_loop(port, REQUEST, arrivals))
    }
    for clients in CLIENTS:
        loads[f"closed loop, {clients} clients"] = lambda port, clients=clients: _run(  # type: ignore[misc]
            closed_loop(port, REQUEST, clients, seconds)
        )
    return loads


def _run(load: object) -> LoadResult:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(load)  # type: ignore[arg-type]


def measure(plan: Plan, report: Callable[[str], None]) -> list[Measured]:
    """All scenarios against all targets, the targets taking turns within each round."""
    measured = []
    proxy_core, load_core = plan.cores or (None, None)
    if load_core is not None:
        os.sched_setaffinity(0, {load_core})
    with ExitStack() as stack:
        runtime_dir = stack.enter_context(tempfile.TemporaryDirectory(prefix="hmas-bench-"))
        engine = stack.enter_context(
            part("echo", load_core, chunks=CHUNKS, interval_ms=plan.interval_ms)
        )
        bare = stack.enter_context(part("passthrough", proxy_core, engine_port=engine.port))
        gateway = stack.enter_context(
            part(
                "gateway",
                proxy_core,
                engine_port=engine.port,
                runtime_dir=runtime_dir,
                classifier=plan.classifier,
                length_model=plan.length_model,
            )
        )
        targets = {"direct": engine, "aiohttp": bare, "gateway": gateway}
        for target in targets.values():
            _run(closed_loop(target.port, REQUEST, 8, 0.5))
        for scenario, load in scenarios(plan.seconds).items():
            rounds: dict[str, list[Round]] = {name: [] for name in targets}
            for number in range(plan.rounds):
                for name, target in targets.items():
                    report(f"{scenario}: {name}, round {number + 1} of {plan.rounds}")
                    before_s = target.cpu_s()
                    result = load(target.port)
                    rounds[name].append(Round(result, target.cpu_s() - before_s))
            measured += [summary(name, scenario, rounds[name]) for name in targets]
    return measured


def verdict(measured: Sequence[Measured]) -> dict[str, float | bool]:
    """The numbers of the targets and whether they hold."""
    by_name = {(m.target, m.scenario): m for m in measured}
    scenario = measured[0].scenario
    direct, gateway = by_name["direct", scenario], by_name["gateway", scenario]
    bare = by_name["aiohttp", scenario]
    p50_ms = gateway.total_p50_ms - direct.total_p50_ms
    p99_ms = gateway.total_p99_ms - direct.total_p99_ms
    first_p50_ms = gateway.first_byte_p50_ms - direct.first_byte_p50_ms
    first_p99_ms = gateway.first_byte_p99_ms - direct.first_byte_p99_ms
    best_per_s = max(m.per_s for m in measured if m.target == "gateway")
    return {
        "added_first_byte_p50_ms": round(first_p50_ms, 3),
        "added_first_byte_p99_ms": round(first_p99_ms, 3),
        "added_total_p50_ms": round(p50_ms, 3),
        "added_total_p99_ms": round(p99_ms, 3),
        "aiohttp_added_first_byte_p50_ms": round(
            bare.first_byte_p50_ms - direct.first_byte_p50_ms, 3
        ),
        "aiohttp_added_first_byte_p99_ms": round(
            bare.first_byte_p99_ms - direct.first_byte_p99_ms, 3
        ),
        "aiohttp_added_total_p50_ms": round(bare.total_p50_ms - direct.total_p50_ms, 3),
        "aiohttp_added_total_p99_ms": round(bare.total_p99_ms - direct.total_p99_ms, 3),
        "streamed_per_s": best_per_s,
        "aiohttp_streamed_per_s": max(m.per_s for m in measured if m.target == "aiohttp"),
        "failed": sum(m.failed for m in measured),
        "whole_answer_holds": _holds(p50_ms, p99_ms),
        "first_byte_holds": _holds(first_p50_ms, first_p99_ms),
        "throughput_holds": best_per_s >= TARGET_PER_S,
    }


def _holds(p50_ms: float, p99_ms: float) -> bool:
    return p50_ms <= TARGET_ADDED_P50_MS and p99_ms <= TARGET_ADDED_P99_MS


def conditions(plan: Plan) -> dict[str, object]:
    """Command, machine and date, which every number needs beside it."""
    return {
        "command": " ".join(["python -m hmas.bench.gateway", *sys.argv[1:]]),
        "date": time.strftime("%Y-%m-%d %H:%M:%S %Z"),
        "machine": f"{_processor()}, {os.cpu_count()} cores, {platform.system()}",
        "python": platform.python_version(),
        "load_average": round(os.getloadavg()[0], 2),
        "chunks": CHUNKS,
        "interval_ms": plan.interval_ms,
        "rounds": plan.rounds,
        "seconds_each": plan.seconds,
        "classifier": plan.classifier,
        "length_model": plan.length_model,
        "cores": "proxy {}, load and engine {}".format(*plan.cores) if plan.cores else "not pinned",
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def show(console: Console, measured: Sequence[Measured], held: dict[str, float | bool]) -> None:
    table = Table(title=f"streamed chat requests, {CHUNKS} chunks each, medians over rounds")
    for column in ("scenario", "target", "requests/s", "first byte p50 / p99 ms",
                   "whole p50 / p99 ms", "added p50 / p99 ms", "CPU ms", "failed"):  # fmt: skip
        table.add_column(column, justify="left" if column in {"scenario", "target"} else "right")
    direct = {m.scenario: m for m in measured if m.target == "direct"}
    for m in measured:
        base = direct[m.scenario]
        added = (
            "-"
            if m is base
            else f"{m.total_p50_ms - base.total_p50_ms:.2f} / "
            f"{m.total_p99_ms - base.total_p99_ms:.2f}"
        )
        table.add_row(
            m.scenario, m.target, f"{m.per_s:.0f}",
            f"{m.first_byte_p50_ms:.2f} / {m.first_byte_p99_ms:.2f}",
            f"{m.total_p50_ms:.2f} / {m.total_p99_ms:.2f}", added,
            f"{m.cpu_ms_per_request:.2f}", str(m.failed),
            end_section=m.target == "gateway",
        )  # fmt: skip
    console.print(table)
    for name, value in held.items():
        console.print(f"{name}: {value}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each measurement")
    parser.add_argument("--interval-ms", type=float, default=5.0, help="between two chunks")
    parser.add_argument("--classifier", default="off", help="as the gateway's setting")
    parser.add_argument("--length-model", default="off", help="as the gateway's setting")
    parser.add_argument("--json", action="store_true", help="one JSON object and nothing else")
    given = parser.parse_args(arguments)
    available = sorted(os.sched_getaffinity(0))
    cores = (available[-1], available[0]) if len(available) > 1 else None
    learned = (given.classifier, given.length_model)
    plan = Plan(given.rounds, given.seconds, given.interval_ms, cores, *learned)
    console = Console(stderr=given.json, width=None if sys.stdout.isatty() else WIDTH_OF_FILES)
    before = conditions(plan)
    if not given.json:
        for name, value in before.items():
            console.print(f"{name}: {value}")
    with Progress(console=console, transient=True, disable=given.json) as progress:
        task = progress.add_task("", total=plan.rounds * 3 * (1 + len(CLIENTS)))

        def report(text: str) -> None:
            progress.update(task, advance=1, description=text)

        measured = measure(plan, report)
    held = verdict(measured)
    if given.json:
        rows = [asdict(m) for m in measured]
        sys.stdout.write(json.dumps({**before, **held, "measured": rows}) + "\n")
    else:
        show(console, measured, held)
    return 0 if all(held[f"{target}_holds"] for target in TARGETS) else 1


if __name__ == "__main__":
    sys.exit(main())
