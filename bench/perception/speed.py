"""Microseconds of perception and prediction, on one core, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter, sleep
from typing import Final

import msgspec

from hmas.controllers.perception.incoming import Incoming, Prompt, TenantDefaults
from hmas.controllers.perception.shipped import SHIPPED_NAME
from hmas.controllers.perception.training import Sample
from hmas.daemon.gateway.app import GatewayApp, Surroundings
from hmas.daemon.gateway.settings import GatewaySettings

PER_S: Final = 250.0
"""Requests a second of the paced part (issue 4, paper D.3)."""
WARM_UP: Final = 200
PATIENT_MS: Final = 1000.0


class Speed(msgspec.Struct, frozen=True):
    """Milliseconds per request, requests per second without pause, resident megabytes."""

    requests: int
    mean_ms: float
    p50_ms: float
    p98_ms: float
    p99_ms: float
    per_s: float
    memory_mb: float


def measure(samples: Sequence[Sample], seconds: float) -> Speed:
    """Starts a child that imports only what a gateway does, on one core."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        prompts = [sample.prompt for sample in samples]
        Path(file.name).write_bytes(msgspec.json.encode(prompts))
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-m", __spec__.name, file.name, str(seconds)],
            stdout=subprocess.PIPE,
            check=True,
        )
    return msgspec.json.decode(done.stdout, type=Speed)


def timed(tag: Callable[[Incoming], object], prompts: Sequence[Prompt], seconds: float) -> Speed:
    """Paced first, for the latency, then as fast as it goes, for the throughput."""
    for one in _incoming(prompts, WARM_UP):
        tag(one)
    paced = sorted(_paced(tag, _incoming(prompts, max(1, int(seconds * PER_S)))))
    every = _incoming(prompts, len(prompts))
    begun_s = perf_counter()
    for one in every:
        tag(one)
    taken_s = perf_counter() - begun_s
    return Speed(
        requests=len(paced),
        mean_ms=1e3 * sum(paced) / len(paced),
        p50_ms=1e3 * paced[len(paced) // 2],
        p98_ms=1e3 * paced[int(len(paced) * 0.98)],
        p99_ms=1e3 * paced[int(len(paced) * 0.99)],
        per_s=len(every) / taken_s,
        memory_mb=_resident_mb(),
    )


def _paced(tag: Callable[[Incoming], object], incoming: Sequence[Incoming]) -> list[float]:
    """Seconds of each call, ``PER_S`` of them a second."""
    taken = []
    next_s = perf_counter()
    for one in incoming:
        next_s += 1 / PER_S
        sleep(max(0.0, next_s - perf_counter()))
        begun_s = perf_counter()
        tag(one)
        taken.append(perf_counter() - begun_s)
    return taken


def _resident_mb() -> float:
    """The largest so far. ``getrusage`` would count what the parent held before ``exec``."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0


def _incoming(prompts: Sequence[Prompt], count: int) -> list[Incoming]:
    """Requests with ``prompts`` in turn, each a copy that nothing was computed of."""
    return [
        Incoming(
            request_id=f"r{number}",
            arrival_s=0.0,
            defaults=TenantDefaults(),
            prompt=msgspec.structs.replace(prompts[number % len(prompts)]),
        )
        for number in range(count)
    ]


def main(arguments: Sequence[str]) -> None:
    """The child: PROMPTS.json SECONDS; one JSON object on standard output."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    prompts = msgspec.json.decode(Path(arguments[0]).read_bytes(), type=list[Prompt])
    settings = GatewaySettings(
        tagging_budget_ms=PATIENT_MS, classifier=SHIPPED_NAME, length_model=SHIPPED_NAME
    )
    app = GatewayApp(settings, surroundings=Surroundings(is_punctual=False))
    speed = timed(app.perception.tag, prompts, float(arguments[1]))
    sys.stdout.buffer.write(msgspec.json.encode(speed))


if __name__ == "__main__":
    main(sys.argv[1:])
