"""A profile from a real engine: ``hmas bench fit live NAME --engine engine0 --seconds 60``.

Listens to the plug-in's own step telemetry while the engine serves whatever it serves, so the
coefficients hold for the loads that occur meanwhile. Reports merge the steps of a few dozen
milliseconds, which leaves the quadratic term unknown: it stays 0. With ``--log FILE`` the steps
that ``hmas.bench.fit_recorder`` wrote are read instead, one by one, and it is fitted too.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import zmq

from hmas.bench.fit import relative_least_squares
from hmas.bench.fit_profile import fit_mean_steps
from hmas.bench.fit_recorder import read_log
from hmas.engine.directive import Describe, EngineDescription, StepModel
from hmas.engine.events import StepStats
from hmas.engine.link.config import LinkConfig, LinkConfigError, runtime_dir
from hmas.engine.link.sockets import connect_private
from hmas.engine.simulator.profile import FitError, Profile, ProfileError, load_profile
from hmas.engine.wire import WireError, decode_batch, decode_reply, encode

ANSWER_S: Final = 5.0
FEWEST_REPORTS: Final = 20
UNKNOWN_KV_BYTES: Final = 1
SAY_EVERY_S: Final = 10.0


class LiveFitError(RuntimeError):
    """The engine does not tell enough; the message says what is missing."""


def fit_merged(stats: Sequence[StepStats]) -> tuple[StepModel, FitError]:
    """The step model whose sums meet the busy time of merged steps, without the quadratic term.

    Raises:
        LiveFitError: fewer than ``FEWEST_REPORTS`` reports of a working engine.
    """
    working = [one for one in stats if one.steps and one.busy_s > 0]
    if len(working) < FEWEST_REPORTS:
        raise LiveFitError(
            f"{len(working)} reports of a working engine, {FEWEST_REPORTS} are needed: send it"
            " requests, or listen longer (--seconds)"
        )
    design = np.array(
        [[s.steps, s.prefill_tokens, s.context_tokens, s.sequences] for s in working], np.float64
    )
    busy_ms = np.array([1000 * one.busy_s for one in working])
    base, prefill, context, sequence = relative_least_squares(
        design, busy_ms, np.ones(len(busy_ms))
    )
    error = np.abs(design @ [base, prefill, context, sequence] - busy_ms) / busy_ms
    model = StepModel(
        base_ms=float(f"{base:.4g}"), prefill_ms=float(f"{prefill:.4g}"),
        context_ms=float(f"{context:.4g}"), sequence_ms=float(f"{sequence:.4g}"),
    )  # fmt: skip
    median, p90 = (round(float(np.quantile(error, level)), 4) for level in (0.5, 0.9))
    return model, FitError(points=len(working), median=median, p90=p90)


def listen(
    link: LinkConfig, seconds: float, say: Callable[[str], None]
) -> tuple[EngineDescription, list[StepStats]]:
    """What the engine is, and its step reports of that time. Raises :class:`LiveFitError`."""
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    try:
        with context.socket(zmq.SUB) as events, context.socket(zmq.REQ) as control:
            for socket in (events, control):
                socket.linger = 0
            events.subscribe(b"")
            connect_private(events, link.events_endpoint, link.curve)
            described = _describe(control, link)
            return described, _collect(events, seconds, say)
    finally:
        context.term()


def _describe(control: zmq.Socket[bytes], link: LinkConfig) -> EngineDescription:
    connect_private(control, link.control_endpoint, link.curve)
    control.send(encode(Describe()))
    if not control.poll(int(ANSWER_S * 1000)):
        raise LiveFitError(f"no answer from {link.control_endpoint}: is an engine running there?")
    reply = decode_reply(control.recv())
    if not isinstance(reply, EngineDescription):
        raise LiveFitError(f"{link.control_endpoint} refuses to describe itself")
    return reply


def _collect(
    events: zmq.Socket[bytes], seconds: float, say: Callable[[str], None]
) -> list[StepStats]:
    stats: list[StepStats] = []
    end_s = time.monotonic() + seconds
    say_at_s = time.monotonic() + SAY_EVERY_S
    while (left_s := end_s - time.monotonic()) > 0:
        if events.poll(int(left_s * 1000) + 1):
            batch = decode_batch(events.recv())
            stats += [event for event in batch.events if isinstance(event, StepStats)]
        if time.monotonic() >= say_at_s:
            say_at_s += SAY_EVERY_S
            say(f"{sum(one.steps for one in stats)} steps, {left_s:.0f} s to go")
    return stats


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    try:
        profile = _from_log(arguments) if arguments.log else _from_engine(arguments)
    except (LiveFitError, LinkConfigError, ProfileError, WireError, OSError, ValueError) as error:
        print(f"fit live: {error}", file=sys.stderr)
        return 1
    encoded = msgspec.json.format(msgspec.json.encode(profile), indent=2) + b"\n"
    if arguments.output is None:
        print(encoded.decode(), end="")
    else:
        arguments.output.write_bytes(encoded)
    return 0


def _from_engine(arguments: argparse.Namespace) -> Profile:
    folder = arguments.runtime_dir or runtime_dir(os.environ)
    link = LinkConfig.local(arguments.engine, folder)
    described, stats = listen(link, arguments.seconds, lambda text: print(text, file=sys.stderr))
    model, error = fit_merged(stats)
    return Profile(
        name=arguments.name, model=described.model, hardware=arguments.hardware,
        source=f"own measurement: telemetry of {described.kind} {described.kind_version}",
        licence="own", notes=f"{sum(one.steps for one in stats)} merged steps, no quadratic term",
        command=f"hmas bench fit live {arguments.name} --engine {arguments.engine}",
        step_model=model, limits=described.limits, fit=error,
        kv_bytes_per_token=arguments.kv_bytes_per_token,
    )  # fmt: skip


def _from_log(arguments: argparse.Namespace) -> Profile:
    like = load_profile(arguments.like)
    log = read_log(arguments.log)
    model, error = fit_mean_steps(log.shapes, log.step_ms)
    return msgspec.structs.replace(
        like, name=arguments.name, hardware=arguments.hardware, source="own measurement: step log",
        licence="own", notes=f"limits as in {like.name}", step_model=model, fit=error,
        command=f"hmas bench fit live {arguments.name} --log FILE --like {like.name}",
    )  # fmt: skip


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hmas bench fit live", description=__doc__)
    parser.add_argument("name", help="of the profile")
    parser.add_argument("--engine", default="engine0", help="engine id (HMAS_ENGINE_ID)")
    parser.add_argument("--runtime-dir", type=Path, help="where the engine's sockets are")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--hardware", default="unknown")
    parser.add_argument("--kv-bytes-per-token", type=int, default=UNKNOWN_KV_BYTES)
    parser.add_argument("--log", type=Path, help="a step log instead of a live engine")
    parser.add_argument("--like", default="a100-qwen3-8b", help="with --log: profile of the limits")
    parser.add_argument("--output", type=Path, help="write the profile here instead of printing")
    return parser


if __name__ == "__main__":
    sys.exit(main())
