"""Construction of the plug-in in a real vLLM. Runs inside the vLLM environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from vllm.config.scheduler import SchedulerConfig
from vllm.v1.core.sched.async_scheduler import AsyncScheduler
from vllm.v1.core.sched.scheduler import Scheduler

from hmas.bench.vllm_lab import Engine, make_scheduler
from hmas.engine import vllm_plugin
from hmas.engine.vllm_compat import UnsupportedVllmError
from hmas.engine.vllm_scheduler import (
    AsyncPolymorphicScheduler,
    PolymorphicScheduler,
    SyncPolymorphicScheduler,
)


def refusal() -> str:
    import vllm

    version, vllm.__version__ = vllm.__version__, "0.99.0"
    try:
        make_scheduler(PolymorphicScheduler, Engine())
    except UnsupportedVllmError as error:
        return str(error)
    finally:
        vllm.__version__ = version
    return "accepted"


def bare_object_is_stock() -> bool:
    """vLLM's tests build schedulers without ``__init__``; ours must behave like theirs."""
    bare = object.__new__(SyncPolymorphicScheduler)
    made = make_scheduler(Scheduler, Engine())
    bare.__dict__.update(made.__dict__)
    return bare.schedule().total_num_scheduled_tokens == 0 and bare._hmas is None


def entry_point_choice(environ: dict[str, str]) -> str:
    program = (
        "from vllm.plugins import load_general_plugins; load_general_plugins();"
        "from vllm.config.scheduler import SchedulerConfig as C;"
        "made = C(max_model_len=64, is_encoder_decoder=False, max_num_batched_tokens=2048);"
        "print('chosen', made.get_scheduler_cls().__name__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=True,
    )
    return next(line.split()[1] for line in done.stdout.splitlines() if line.startswith("chosen"))


def main() -> None:
    sync, ahead = (
        make_scheduler(PolymorphicScheduler, Engine(asynchronous=value)) for value in (False, True)
    )
    vllm_plugin.register()
    result: dict[str, Any] = {
        "sync": type(sync) is SyncPolymorphicScheduler and not isinstance(sync, AsyncScheduler),
        "async": type(ahead) is AsyncPolymorphicScheduler and isinstance(ahead, AsyncScheduler),
        "queue": type(sync.waiting).__name__,
        "refusal": refusal(),
        "bare": bare_object_is_stock(),
        "untouched": SchedulerConfig.get_scheduler_cls.__module__,
        "entry_point_off": entry_point_choice({"HMAS_VLLM_PLUGIN": "0"}),
        "entry_point_on": entry_point_choice({"HMAS_VLLM_PLUGIN": "1"}),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
