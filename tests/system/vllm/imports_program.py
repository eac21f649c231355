"""What of ours a bare vLLM environment can import, and what it drags in."""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys

import hmas.engine

SIMULATOR = "hmas.engine.simulator"


def modules() -> list[str]:
    found = [info.name for info in pkgutil.walk_packages(hmas.engine.__path__, "hmas.engine.")]
    return [name for name in found if not name.startswith(SIMULATOR)]


def main() -> None:
    without_vllm = [name for name in modules() if name != "hmas.engine.vllm_scheduler"]
    for name in without_vllm:
        importlib.import_module(name)
    heavy = {"vllm", "torch", "aiohttp", "pydantic", "fastapi", "numpy"} & set(sys.modules)
    importlib.import_module("hmas.engine.vllm_scheduler")
    from vllm.v1.core.sched.request_queue import RequestQueue

    from hmas.engine.vllm_queue import TopologyQueue

    methods = sorted(RequestQueue.__abstractmethods__)
    missing = [name for name in methods if name not in vars(TopologyQueue)]
    result = {"imported": len(without_vllm), "heavy": sorted(heavy), "missing": missing}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
