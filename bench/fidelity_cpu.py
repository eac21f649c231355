"""A real vLLM on this machine's CPU against the simulator, on the same requests.

Runs that are recorded inside the engine and fitted take turns with runs of other requests
(another seed, other lengths, burstier arrivals), which are simulated once. vLLM has one core,
the load generator another.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from hmas.bench.fidelity_run import Asked, Timing, simulate
from hmas.bench.fidelity_table import Comparison, compare, figures
from hmas.bench.fit_profile import SeenByClient, fit_frontend, fit_mean_steps
from hmas.bench.fit_recorder import LOG_VARIABLE, StepLog, read_log
from hmas.bench.live import LiveReport, OnProgress, replay_live
from hmas.bench.random_model import CPU_LLAMA, write_model
from hmas.bench.slo import WorkloadRequest
from hmas.bench.stream import LiveTarget
from hmas.bench.vllm_server import MODEL_NAME, VllmServer, vllm_server
from hmas.engine.directive import EngineLimits
from hmas.engine.features import RequestFeatures, length_bucket
from hmas.engine.simulator.profile import Profile

RECORDER: Final = "hmas.bench.fit_recorder.RecordingScheduler"
LIMITS: Final = EngineLimits(
    max_num_seqs=32, max_num_batched_tokens=512, kv_blocks=1023, block_size=32, max_model_len=2048
)
FLAGS: Final = (
    "--dtype", "float32", "--enforce-eager", "--load-format", "dummy", "--max-model-len", "2048",
    "--max-num-batched-tokens", "512", "--no-enable-prefix-caching",
)  # fmt: skip
OUR_ID: Final = re.compile(r"r\d{6}")
WARM_UP_S: Final = 30.0
"""Steps get faster for about half a minute after the start."""
REST_S: Final = 1.5

OnRun = Callable[[str], OnProgress]


@dataclass(frozen=True, slots=True)
class Traffic:
    """Log-normal lengths and Gamma arrivals; ``burstiness`` is their squared variation."""

    seed: int
    rps: float
    duration_s: float
    prompt_tokens: float
    output_tokens: float
    burstiness: float = 1.0


@dataclass(frozen=True, slots=True)
class CpuPlan:
    """What is sent. Fit and test take turns, so that a drift of the machine meets both."""

    fit: Traffic = Traffic(1, 5.0, 25.0, prompt_tokens=120, output_tokens=24)
    test: Traffic = Traffic(2, 4.0, 45.0, prompt_tokens=80, output_tokens=32, burstiness=2.0)
    repeats: int = 4


def requests_of(traffic: Traffic) -> list[WorkloadRequest]:
    """The same traffic gives the same requests."""
    random = np.random.default_rng(traffic.seed)
    shape = 1 / traffic.burstiness
    count = round(traffic.rps * traffic.duration_s)
    gaps = random.gamma(shape, 1 / shape, count)
    arrivals = np.cumsum(gaps) * traffic.duration_s / gaps.sum()
    prompts = random.lognormal(np.log(traffic.prompt_tokens), 0.8, count).clip(4, 1500)
    outputs = random.lognormal(np.log(traffic.output_tokens), 0.6, count).clip(2, 300)
    return [
        _request(number, float(at_s), int(prompt), int(output))
        for number, (at_s, prompt, output) in enumerate(
            zip(arrivals, prompts, outputs, strict=True)
        )
    ]


def _request(number: int, arrival_s: float, prompt: int, output: int) -> WorkloadRequest:
    features = RequestFeatures(
        request_id=f"r{number:06d}", arrival_s=arrival_s, prompt_tokens=prompt,
        predicted_output_tokens=output, length_bucket=length_bucket(prompt),
        slo_ttft_ms=1000.0, slo_tpot_ms=1000.0,
    )  # fmt: skip
    return WorkloadRequest(features, output)


def compare_cpu(
    plan: CpuPlan, folder: Path, on_run: OnRun, say: Callable[[str], None]
) -> Comparison:
    """Serve, record, fit, repeat, simulate.

    Raises:
        VllmError: no vLLM, or it does not come up.
        RuntimeError: a request failed.
    """
    model = write_model(folder / "model", CPU_LLAMA)
    log = folder / "steps.jsonl"
    vllm_core, our_cores = split_cores()
    say("starting a real vLLM on the CPU")
    with pinned(our_cores), vllm_server(
        model, folder / "vllm", scheduler=RECORDER, blocks=LIMITS.kv_blocks + 1,
        max_num_seqs=LIMITS.max_num_seqs, flags=FLAGS, environ={LOG_VARIABLE: str(log)},
        cpus=vllm_core,
    ) as server:  # fmt: skip
        bench = _Bench(server, log, on_run)
        bench.warm_up(plan)
        recorded, real = [], []
        for number in range(1, plan.repeats + 1):
            # Every other time in the other order: a machine that grows faster favours neither.
            if number % 2:
                recorded.append(bench.record(plan.fit, number))
            real.append(bench.test(plan.test, number))
            if not number % 2:
                recorded.append(bench.record(plan.fit, number))
    profile = fitted_profile(recorded)
    asked = [_asked(request) for request in requests_of(plan.test)]
    return Comparison(
        title="real vLLM on this machine's CPU",
        detail=_detail(profile, plan),
        rows=compare(
            [figures(timings.values()) for timings in real],
            figures(simulate(asked, profile).values()),
        ),
    )


@dataclass(frozen=True, slots=True)
class Recorded:
    """One run as the engine and as the client saw it."""

    log: StepLog
    seen: list[SeenByClient]


@dataclass(frozen=True, slots=True)
class _Bench:
    """One running server and the runs made on it."""

    server: VllmServer
    log: Path
    on_run: OnRun

    def warm_up(self, plan: CpuPlan) -> None:
        """First steps of a shape compile and allocate."""
        warm = Traffic(3, plan.fit.rps, WARM_UP_S, plan.fit.prompt_tokens, plan.fit.output_tokens)
        self._replay("warm-up", warm)

    def record(self, traffic: Traffic, number: int) -> Recorded:
        started_s, ended_s, report = self._replay(f"recorded run {number}", traffic)
        log = read_log(self.log, started_s, ended_s)
        return Recorded(log, seen_by_client(traffic, report, started_s))

    def test(self, traffic: Traffic, number: int) -> Mapping[str, Timing]:
        _, _, report = self._replay(f"test run {number}", traffic)
        return {
            request.features.request_id: Timing(result.ttft_s, result.e2e_s, result.output_tokens)
            for request, result in zip(requests_of(traffic), report.results, strict=True)
        }

    def _replay(self, name: str, traffic: Traffic) -> tuple[float, float, LiveReport]:
        target = LiveTarget(self.server.url, MODEL_NAME, seed=traffic.seed)
        time.sleep(REST_S)
        started_s = time.monotonic()
        report = asyncio.run(replay_live(requests_of(traffic), target, self.on_run(name)))
        if report.errors:
            raise RuntimeError(f"{name}: {report.lost} requests failed: {report.errors}")
        return started_s, time.monotonic(), report


def fitted_profile(runs: Sequence[Recorded]) -> Profile:
    """The profile of this machine's CPU with the random model, from all recorded runs."""
    whole, seen = StepLog(), []
    for number, run in enumerate(runs):
        whole.shapes.extend(run.log.shapes)
        whole.step_ms.extend(run.log.step_ms)
        whole.spans.extend(run.log.spans)
        for name, times in run.log.requests.items():
            whole.requests[f"{number} {OUR_ID.findall(name)[0]}"] = times
        seen += [replace(one, name=f"{number} {one.name}") for one in run.seen]
    model, error = fit_mean_steps(whole.shapes, whole.step_ms)
    return Profile(
        name="cpu-lab", model="random Llama of 26 million parameters", hardware="one CPU core",
        source="own measurement", licence="Apache-2.0", notes="recorded inside a real vLLM",
        command="python -m hmas.bench.fidelity --only cpu", step_model=model, limits=LIMITS,
        kv_bytes_per_token=16_384, fit=error,
        frontend=fit_frontend(whole, seen),
    )  # fmt: skip


def seen_by_client(traffic: Traffic, report: LiveReport, started_s: float) -> list[SeenByClient]:
    return [
        SeenByClient(
            request.features.request_id,
            started_s + request.features.arrival_s,
            started_s + request.features.arrival_s + result.ttft_s,
            request.features.prompt_tokens,
        )
        for request, result in zip(requests_of(traffic), report.results, strict=True)
    ]


def _asked(request: WorkloadRequest) -> Asked:
    features = request.features
    return Asked(
        features.request_id, features.arrival_s, features.prompt_tokens, request.output_tokens
    )


def split_cores() -> tuple[tuple[int, ...], tuple[int, ...]]:
    """One core for vLLM, the others for us; the same one where there is no other."""
    first, *others = sorted(os.sched_getaffinity(0))
    return (first,), tuple(others) or (first,)


@contextmanager
def pinned(cores: Sequence[int]) -> Iterator[None]:
    """This process on ``cores`` only."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _detail(profile: Profile, plan: CpuPlan) -> str:
    model, frontend, error = profile.step_model, profile.frontend, profile.fit
    steps = (
        f"step {model.base_ms:g} + {model.prefill_ms:g}·prefill + {model.context_ms:g}·context"
        f" + {model.sequence_ms:g}·sequences + {model.prefill_quadratic_ms:g}·prefill² ms"
    )
    around = frontend and (
        f"; {frontend.request_ms:g} ms + {frontend.prompt_token_ms:g} ms per prompt token before"
        f" the engine, {frontend.output_ms:g} ms after a step"
    )
    points = error and f" ({error.points} steps, median error {error.median:.1%})"
    sent = f"test {plan.test.rps:g}/s for {plan.test.duration_s:g} s, {plan.repeats} times"
    return f"{steps}{points}{around}; {sent}"
