"""What ``hmas up`` runs on this machine, and why: vLLM where it can, else the simulator."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hmas.daemon.settings import EngineSettings, Settings
from hmas.daemon.supervise.child import ChildSpec
from hmas.daemon.supervise.probe import address_of, is_free

DEFAULT_PROFILE: Final = "a100-qwen3-8b"
VLLM_GRACE_S: Final = 30.0
HMAS: Final = (sys.executable, "-m", "hmas.daemon.cli.main")
_HAS_BOTH: Final = (
    "import importlib.util as u, sys; sys.exit(not (u.find_spec('vllm') and u.find_spec('hmas')))"
)


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """The engine of this machine. ``argv`` None: it runs elsewhere."""

    kind: str
    why: str
    url: str
    argv: tuple[str, ...] | None
    grace_s: float = 10.0

    @property
    def sentence(self) -> str:
        return f"{self.kind} at {self.url}: {self.why}"


@dataclass(frozen=True, slots=True)
class EngineWish:
    """What the operator asked for; all of it optional."""

    url: str | None = None
    model: str | None = None
    profile: str | None = None
    vllm: str | None = None
    extra: Sequence[str] = ()


def choose_engine(wish: EngineWish, settings: Settings, *, has_gpu: bool) -> EngineChoice:
    """Somebody else's engine, vLLM, or the simulator; says why."""
    url = first_engine(settings).base_url
    if wish.url is not None:
        return EngineChoice("engine", "given with --engine", wish.url.rstrip("/"), None)
    if wish.profile is not None:
        return _simulated(wish, url, wish.profile, "asked for with --simulate")
    if wish.model is None:
        return _simulated(wish, url, DEFAULT_PROFILE, "no --model was given")
    vllm = wish.vllm or found_vllm()
    if vllm is None:
        why = "there is no vLLM with H-MAS installed beside it"
        return _simulated(wish, url, DEFAULT_PROFILE, why)
    if not has_gpu and wish.vllm is None:
        why = "there is no GPU (name vLLM with --vllm to run it on the CPU)"
        return _simulated(wish, url, DEFAULT_PROFILE, why)
    host, port = address_of(url)
    argv = (*HMAS, "engine", "--model", wish.model, "--vllm", vllm)
    address = ("--host", host, "--port", str(port))
    why = f"{vllm} with the plug-in"
    return EngineChoice("vLLM", why, url, (*argv, *address, *wish.extra), VLLM_GRACE_S)


def _simulated(wish: EngineWish, url: str, profile: str, why: str) -> EngineChoice:
    host, port = address_of(url)
    argv = (*HMAS, "engine", "--simulate", profile, "--host", host, "--port", str(port))
    named = ("--model", wish.model) if wish.model is not None else ()
    return EngineChoice(f"simulator {profile}", why, url, (*argv, *named, *wish.extra))


def first_engine(settings: Settings) -> EngineSettings:
    return settings.engines[0] if settings.engines else EngineSettings()


def found_vllm() -> str | None:
    """A ``vllm`` whose Python has H-MAS too: beside ours first, then on the PATH."""
    beside = Path(sys.executable).with_name("vllm")
    for candidate in (str(beside) if beside.exists() else None, shutil.which("vllm")):
        if candidate is not None and has_plugin(candidate):
            return candidate
    return None


def has_plugin(vllm: str) -> bool:
    """Whether the interpreter of this ``vllm`` script finds both packages."""
    python = Path(vllm).resolve().with_name("python3")
    first = Path(vllm).with_name("python3")
    chosen = first if first.exists() else python
    try:
        done = subprocess.run([str(chosen), "-c", _HAS_BOTH], check=False, timeout=30)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def machine_has_gpu() -> bool:
    """A device that vLLM could use: NVIDIA or AMD."""
    return any(Path(device).exists() for device in ("/dev/nvidia0", "/dev/kfd"))


def child_environment(
    settings: Settings, engine: EngineChoice, environ: Mapping[str, str], config: Path | None
) -> dict[str, str]:
    """What makes all children see the same settings as we do."""
    chosen = {**environ, "HMAS_RUNTIME_DIR": str(settings.runtime_dir)}
    chosen["HMAS_STATE_DIR"] = str(settings.state_dir)
    if config is not None:
        chosen["HMAS_CONFIG"] = str(config.resolve())
    for section in ("gateway", "admin", "console"):
        own = getattr(settings, section)
        chosen[f"HMAS_{section.upper()}__PORT"] = str(own.port)
    first = first_engine(settings)
    chosen["HMAS_ENGINE_ID"] = first.engine_id
    if engine.argv is None or first.model_fields_set <= {"engine_id", "url"}:
        target = {"engine_id": first.engine_id, "url": engine.url, **pump_settings(first)}
        chosen["HMAS_ENGINES"] = json.dumps([target | {"controlled": engine.argv is not None}])
    return chosen


def pump_settings(engine: EngineSettings) -> dict[str, Any]:
    """What was set of its pump: an engine that runs elsewhere can have one."""
    given = engine.model_dump(exclude_unset=True)
    return {name: value for name, value in given.items() if name.startswith("pump")}


def children(
    settings: Settings, engine: EngineChoice, environ: Mapping[str, str]
) -> list[ChildSpec]:
    """In the order in which they are started; stopped the other way round."""
    logs = settings.state_dir / "logs"

    def spec(name: str, argv: Sequence[str], ready_url: str, grace_s: float = 10.0) -> ChildSpec:
        return ChildSpec(name, argv, environ, logs / f"{name}.log", ready_url, grace_s)

    specs = []
    if engine.argv is not None:
        specs.append(spec("engine", engine.argv, f"{engine.url}/health", engine.grace_s))
    specs.append(spec("daemon", (*HMAS, "daemon"), f"{admin_url(settings)}/livez"))
    grace_s = settings.gateway.drain_timeout_s + 5.0
    specs.append(spec("gateway", (*HMAS, "gateway"), f"{gateway_url(settings)}/livez", grace_s))
    if settings.console.enabled:
        specs.append(spec("console", (*HMAS, "console"), f"{console_url(settings)}/_stcore/health"))
    return specs


def gateway_url(settings: Settings) -> str:
    return _url(settings.gateway.host, settings.gateway.port)


def admin_url(settings: Settings) -> str:
    return _url(settings.admin.host, settings.admin.port)


def console_url(settings: Settings) -> str:
    return _url(settings.console.host, settings.console.port)


def _url(host: str, port: int) -> str:
    reachable = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    return f"http://[{reachable}]:{port}" if ":" in reachable else f"http://{reachable}:{port}"


def ports_in_use(settings: Settings, engine: EngineChoice) -> list[str]:
    """What stands in the way of a start, one sentence each."""
    wanted = {
        "gateway.port": (settings.gateway.host, settings.gateway.port),
        "admin.port": (settings.admin.host, settings.admin.port),
    }
    if settings.console.enabled:
        wanted["console.port"] = (settings.console.host, settings.console.port)
    if engine.argv is not None:
        wanted["engine port"] = address_of(engine.url)
    return [
        f"{name}: {host}:{port} is in use"
        for name, (host, port) in wanted.items()
        if not is_free(host, port)
    ]
