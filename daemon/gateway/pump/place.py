"""Which share of an engine one worker's pump has, and where it takes directives."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from hmas.daemon.gateway.settings import EngineTarget
from hmas.engine.directive import EngineLimits
from hmas.engine.link.config import LinkConfig
from hmas.engine.link.curve import load_keys

BLOCK_TOKENS: Final = 16
UNKNOWN_KV_BLOCKS: Final = 2**36
"""So many that the fence never holds anything back."""

UNKNOWN_MODEL_LEN: Final = 2**24

NO_TOKEN_BUDGET: Final = 1
"""Nothing before the engine bounds its steps; a budget without a range leaves N_run to Statera."""

_TCP_PORT: Final = re.compile(r"(?P<host>tcp://.*):(?P<port>\d+)")


def link_of(target: EngineTarget, directory: Path, worker: int, workers: int) -> LinkConfig:
    """The control link of an engine, or of its pump in one of several workers.

    With several workers each is an engine of its own to the daemon: ``<engine_id>-w<n>``, with
    the same suffix on configured socket files and ``n`` added to configured ports.

    Raises:
        LinkConfigError: the id is no file name, or an address is wrong.
        CurveError: keys are missing.
    """
    suffix = f"-w{worker}" if workers > 1 else ""
    engine_id = target.engine_id + suffix
    default = LinkConfig.local(engine_id, directory)
    control = _of_worker(target.control, worker, suffix)
    events = _of_worker(target.events, worker, suffix)
    return LinkConfig(
        engine_id=engine_id,
        control_endpoint=control or default.control_endpoint,
        events_endpoint=events or default.events_endpoint,
        curve=load_keys(target.curve_dir) if target.curve_dir else None,
    )


def limits_of(target: EngineTarget, worker: int, workers: int) -> EngineLimits:
    """One worker's share: running requests and KV tokens are split evenly, the rest to the first.

    The shares add up to what is configured, so that all workers together stay within it (with
    more workers than running requests each has one).
    """
    kv_tokens = target.pump_kv_tokens
    blocks = UNKNOWN_KV_BLOCKS
    if kv_tokens is not None:
        blocks = max(1, _share(kv_tokens // BLOCK_TOKENS, worker, workers))
    return EngineLimits(
        max_num_seqs=max(1, _share(target.pump_max_running, worker, workers)),
        max_num_batched_tokens=NO_TOKEN_BUDGET,
        kv_blocks=blocks,
        block_size=BLOCK_TOKENS,
        max_model_len=UNKNOWN_MODEL_LEN,
    )


def _share(whole: int, worker: int, workers: int) -> int:
    return whole // workers + (worker < whole % workers)


def _of_worker(endpoint: str | None, worker: int, suffix: str) -> str | None:
    if endpoint is None or not suffix:
        return endpoint
    if match := _TCP_PORT.fullmatch(endpoint):
        return f"{match['host']}:{int(match['port']) + worker}"
    return endpoint + suffix
