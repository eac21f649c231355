"""What the plug-in costs: ``schedule()`` of stock vLLM against ours, in one process, interleaved.

Runs inside the vLLM environment (``make bench-overhead``). 64 requests decode while W wait; every
variant steps its own real scheduler with a KV cache manager and faked model outputs. The link
thread is on, as in production: step reports are published while the clock runs.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vllm.v1.core.sched.scheduler import Scheduler

from hmas.bench.vllm_lab import Engine, make_request, make_scheduler, model_output
from hmas.engine.clock import SystemClock
from hmas.engine.directive import UNBOUNDED, Controls, Directive, StepModel
from hmas.engine.features import XARGS_KEY, RequestFeatures, encode_features
from hmas.engine.vllm_scheduler import LINK_VARIABLE, PolymorphicScheduler

RUNNING = 64
ENGINE = Engine(max_num_seqs=RUNNING, blocks=40_000, max_model_len=16_384)
STEP_MODEL = StepModel(base_ms=5, prefill_ms=0.01, context_ms=1e-5, sequence_ms=0.02)
GOVERNED = Controls(
    n_run=RUNNING,
    token_budget=1024,
    fence=dict.fromkeys(range(10), 100),
    kv_margin=0.05,
    step_model=STEP_MODEL,
)
TARGET_RATIO = 1.10


@dataclass(frozen=True)
class Variant:
    """A scheduler under test, and the directive that it got."""

    name: str
    topology: str | None = None
    controls: Controls = UNBOUNDED


VARIANTS = (
    Variant("stock vLLM"),
    Variant("plug-in, FCFS unbounded", "fcfs"),
    Variant("plug-in, EDF + fence + budget", "edf", GOVERNED),
    Variant("plug-in, two_lane + fence + budget", "two_lane", GOVERNED),
)


@dataclass(frozen=True)
class Row:
    """Microseconds of one call with ``waiting`` requests in the queue."""

    variant: str
    waiting: int
    schedule_us_p50: float
    schedule_us_p99: float
    schedule_ratio: float
    update_us_p50: float
    update_ratio: float


def features(number: int) -> str:
    return encode_features(
        RequestFeatures(
            request_id=f"r{number}",
            arrival_s=SystemClock().now_s(),
            slo_ttft_ms=1000.0 + number % 977,
            predicted_output_tokens=64 + number % 512,
            predicted_tpot_ms=20.0,
            known=True,
        )
    )


class Subject:
    """One variant with 64 decoding and ``waiting`` queued requests."""

    def __init__(self, variant: Variant, waiting: int, output_tokens: int) -> None:
        self.variant = variant
        self.schedule_us: list[float] = []
        self.update_us: list[float] = []
        os.environ["HMAS_ENGINE_ID"] = f"bench{id(self)}"
        scheduler_class = PolymorphicScheduler if variant.topology else Scheduler
        self.scheduler = make_scheduler(scheduler_class, ENGINE)
        self._fill(0, RUNNING, output_tokens)
        while sum(request.num_output_tokens > 0 for request in self.scheduler.running) < RUNNING:
            self.step()
        self._fill(RUNNING, waiting, output_tokens)
        if variant.topology:
            self._direct(variant.topology, variant.controls)

    def _fill(self, first: int, count: int, output_tokens: int) -> None:
        for number in range(first, first + count):
            prompt = [1 + number % 999] * (16 + number % 200)
            extra = {XARGS_KEY: features(number)}
            self.scheduler.add_request(
                make_request(
                    f"r{number}",
                    prompt,
                    output_tokens,
                    block_size=ENGINE.block_size,
                    arrival_time=SystemClock().now_s(),
                    extra_args=extra,
                )
            )

    def _direct(self, topology: str, controls: Controls) -> None:
        host = self.scheduler._hmas
        directive = Directive(
            engine_id=host.core.identity.engine_id,
            version=1,
            issued_at_s=SystemClock().now_s(),
            ttl_s=3600,
            topology=topology,
            controls=controls,
        )
        reply = host.mailbox.deliver(directive)
        if not reply.accepted:
            raise RuntimeError(f"the directive of the benchmark was refused: {reply.reason}")

    def step(self) -> None:
        scheduler = self.scheduler
        started = time.perf_counter_ns()
        output = scheduler.schedule()
        scheduled = time.perf_counter_ns()
        answer = model_output(output, scheduler)
        ready = time.perf_counter_ns()
        scheduler.update_from_output(output, answer)
        updated = time.perf_counter_ns()
        self.schedule_us.append((scheduled - started) / 1000)
        self.update_us.append((updated - ready) / 1000)

    def reset(self) -> None:
        self.schedule_us.clear()
        self.update_us.clear()

    def close(self) -> None:
        self.scheduler.shutdown()


def measure(waiting: int, steps: int, block: int) -> list[Row]:
    """Blocks of ``block`` steps of each variant in turn, so that drift hits all alike."""
    output_tokens = ENGINE.max_model_len - 300
    subjects = [Subject(variant, waiting, output_tokens) for variant in VARIANTS]
    for subject in subjects:
        for _ in range(50):
            subject.step()
        subject.reset()
    for turn in range(steps // block):
        for subject in subjects[turn % len(subjects) :] + subjects[: turn % len(subjects)]:
            for _ in range(block):
                subject.step()
    rows = [row_of(subject, subjects[0], waiting) for subject in subjects]
    for subject in subjects:
        subject.close()
    return rows


def row_of(subject: Subject, stock: Subject, waiting: int) -> Row:
    median = statistics.median
    return Row(
        variant=subject.variant.name,
        waiting=waiting,
        schedule_us_p50=round(median(subject.schedule_us), 1),
        schedule_us_p99=round(statistics.quantiles(subject.schedule_us, n=100)[98], 1),
        schedule_ratio=round(median(subject.schedule_us) / median(stock.schedule_us), 3),
        update_us_p50=round(median(subject.update_us), 1),
        update_ratio=round(median(subject.update_us) / median(stock.update_us), 3),
    )


def machine() -> str:
    model = platform.processor()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    return f"{os.cpu_count()} x {model}, Python {platform.python_version()}"


def table(rows: Sequence[Row]) -> str:
    lines = [
        f"{'W':>6}  {'variant':<36} {'schedule µs p50':>15} {'p99':>8} {'ratio':>7}"
        f" {'update µs p50':>14} {'ratio':>7}"
    ]
    lines += [
        f"{row.waiting:>6}  {row.variant:<36} {row.schedule_us_p50:>15.1f}"
        f" {row.schedule_us_p99:>8.1f} {row.schedule_ratio:>7.3f}"
        f" {row.update_us_p50:>14.1f} {row.update_ratio:>7.3f}"
        for row in rows
    ]
    return "\n".join(lines)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m hmas.bench.overhead")
    parser.add_argument("--waiting", type=int, nargs="+", default=[0, 1000, 5000])
    parser.add_argument("--steps", type=int, default=2000, help="timed steps of each variant")
    parser.add_argument("--block", type=int, default=20, help="steps in a row of one variant")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str], write: Callable[[str], Any] = sys.stdout.write) -> int:
    options = parse(arguments)
    os.environ[LINK_VARIABLE] = "on"
    with tempfile.TemporaryDirectory(prefix="hmas-") as directory:
        os.environ["HMAS_RUNTIME_DIR"] = directory
        rows = [
            row
            for waiting in options.waiting
            for row in measure(waiting, options.steps, options.block)
        ]
    about = {
        "command": " ".join(["python -m hmas.bench.overhead", *arguments]),
        "machine": machine(),
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(SystemClock().now_s())),
        "running": RUNNING,
        "steps": options.steps,
    }
    if options.json:
        write(json.dumps({**about, "target_ratio": TARGET_RATIO, "rows": list(map(asdict, rows))}))
        write("\n")
    else:
        write("\n".join(f"{name}: {value}" for name, value in about.items()))
        write(f"\n\n{table(rows)}\n\ntarget: schedule ratio at most {TARGET_RATIO}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
