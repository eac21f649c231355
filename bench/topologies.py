"""What each topology costs: one operation at 1,000 and 10,000 waiting, a swap, bytes per request.

``hmas bench topologies``: the execution core alone, no engine. An admission is a look at the
head, as the engine does before each, and a take.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import random
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, Final

from hmas.engine.admission import SCAN
from hmas.engine.clock import SystemClock
from hmas.engine.core import ExecutionCore, Identity
from hmas.engine.directive import EngineLimits
from hmas.engine.features import RequestFeatures
from hmas.engine.topologies import BASELINE, topology_names

LIMITS: Final = EngineLimits(
    max_num_seqs=256,
    max_num_batched_tokens=2048,
    kv_blocks=30_000,
    block_size=16,
    max_model_len=32_768,
)
TENANTS: Final = 50
TARGET_SWAP_MS: Final = 20.0
TARGET_BYTES: Final = 1024
OPERATIONS: Final = 1000
ROUNDS: Final = 5


@dataclass(frozen=True)
class Row:
    """Medians over rounds, in processor time, which a busy neighbour does not stretch as much."""

    topology: str
    waiting: int
    add_us: float
    pop_us: float
    remove_us: float
    scan_us: float
    swap_ms: float
    request_bytes: int


def features_of(count: int, seed: int) -> list[RequestFeatures]:
    generator = random.Random(seed)  # noqa: S311 - a workload, no secrets
    return [
        RequestFeatures(
            request_id=f"r{number}",
            arrival_s=number * 0.001,
            tenant=f"tenant{generator.randrange(TENANTS)}",
            tenant_weight=generator.choice([1.0, 2.0, 4.0]),
            priority=generator.randrange(-2, 3),
            slo_ttft_ms=generator.uniform(1e5, 1e6),
            prompt_tokens=generator.randrange(10, 8000),
            predicted_output_tokens=generator.randrange(10, 1000),
            predicted_ttft_ms=generator.uniform(10, 2000),
            predicted_tpot_ms=generator.uniform(10, 50),
        )
        for number in range(count)
    ]


def filled(name: str, known: Sequence[RequestFeatures]) -> ExecutionCore:
    """A core with that many waiting under the topology ``name``."""
    core = ExecutionCore(Identity("e", "boot", "bench", "1", "none"), LIMITS)
    core.swap(name, {}, 0.0)
    core.load([], [core.queued(features) for features in known], 0.0)
    return core


def operations_us(name: str, known: Sequence[RequestFeatures]) -> tuple[float, ...]:
    """Add, pop, remove and the scan of a blocked step, with about as many waiting throughout."""
    core = filled(name, known)
    now_s = len(known) * 0.001
    entries = [core.queued(one) for one in features_of(OPERATIONS, seed=2)]
    add_us = timed_us(lambda entry: core.topology.add(entry, now_s), entries)
    remove_us = timed_us(core.topology.remove, entries)
    moments = [now_s + number * 0.01 for number in range(min(OPERATIONS, len(known) // 2))]
    pop_us = timed_us(core.topology.pop, moments)
    scan_us = timed_us(lambda at_s: list(islice(core.waiting(at_s), SCAN)), moments)
    return add_us, pop_us, remove_us, scan_us


def timed_us(operation: Callable[[Any], object], arguments: Sequence[Any]) -> float:
    started = time.process_time_ns()
    for argument in arguments:
        operation(argument)
    return (time.process_time_ns() - started) / 1000 / len(arguments)


def swap_ms(name: str, known: Sequence[RequestFeatures]) -> float:
    """From plain FCFS, with the first look at the new order."""
    core = filled(BASELINE, known)
    gc.collect()
    started = time.process_time_ns()
    core.swap(name, {}, 1.0)
    core.topology.peek(1.0)
    return (time.process_time_ns() - started) / 1e6


def request_bytes(name: str, known: Sequence[RequestFeatures]) -> int:
    """What the pool adds to one request's features: its entry and its places in the order."""
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    core = filled(name, known)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return (after - before) // len(core)


def measure(name: str, waiting: int) -> Row:
    known = features_of(waiting, seed=1)
    rounds = [operations_us(name, known) for _ in range(ROUNDS)]
    medians = [round(statistics.median(column), 2) for column in zip(*rounds, strict=True)]
    swap = round(statistics.median(swap_ms(name, known) for _ in range(ROUNDS)), 2)
    add_us, pop_us, remove_us, scan_us = medians
    return Row(name, waiting, add_us, pop_us, remove_us, scan_us, swap, request_bytes(name, known))


def machine() -> str:
    load = f"load {os.getloadavg()[0]:.1f}"
    return f"{os.cpu_count()} x {platform.machine()}, Python {platform.python_version()}, {load}"


def table(rows: Sequence[Row]) -> str:
    lines = [
        f"{'topology':<10} {'waiting':>8} {'add µs':>8} {'pop µs':>8} {'remove µs':>10}"
        f" {'scan µs':>8} {'swap ms':>8} {'bytes/request':>14}"
    ]
    lines += [
        f"{row.topology:<10} {row.waiting:>8} {row.add_us:>8.2f} {row.pop_us:>8.2f}"
        f" {row.remove_us:>10.2f} {row.scan_us:>8.2f} {row.swap_ms:>8.2f} {row.request_bytes:>14}"
        for row in rows
    ]
    return "\n".join(lines)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, prog="hmas bench topologies")
    parser.add_argument("--waiting", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--topology", nargs="+", choices=topology_names(), default=topology_names())
    parser.add_argument("--json", action="store_true", help="one JSON object")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str], write: Callable[[str], Any] = sys.stdout.write) -> int:
    """Exit code 1 when a swap or a request's memory misses its target."""
    options = parse(arguments)
    rows = [measure(name, waiting) for waiting in options.waiting for name in options.topology]
    about = {
        "command": " ".join(["hmas bench topologies", *arguments]),
        "machine": machine(),
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(SystemClock().now_s())),
        "target_swap_ms": TARGET_SWAP_MS,
        "target_bytes": TARGET_BYTES,
    }
    if options.json:
        write(json.dumps({**about, "rows": list(map(asdict, rows))}) + "\n")
    else:
        write("\n".join(f"{name}: {value}" for name, value in about.items()))
        write(f"\n\n{table(rows)}\n")
    missed = any(r.swap_ms > TARGET_SWAP_MS or r.request_bytes > TARGET_BYTES for r in rows)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
