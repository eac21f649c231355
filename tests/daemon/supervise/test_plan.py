"""What ``hmas up`` runs, and why."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from hmas.daemon.settings import Settings, load_settings
from hmas.daemon.supervise.plan import (
    DEFAULT_PROFILE,
    EngineChoice,
    EngineWish,
    child_environment,
    children,
    choose_engine,
    has_plugin,
    ports_in_use,
)
from hmas.daemon.supervise.probe import address_of, is_free

ENVIRON = {"XDG_RUNTIME_DIR": "/run/user/7", "XDG_STATE_HOME": "/home/op/state"}


def loaded(**flags: Any) -> Settings:
    return load_settings(environ=ENVIRON, flags=flags).settings


def chosen(wish: EngineWish, *, has_gpu: bool = False) -> EngineChoice:
    return choose_engine(wish, loaded(), has_gpu=has_gpu)


def test_an_engine_that_runs_already_is_used() -> None:
    choice = chosen(EngineWish(url="http://gpu1:8000/"))
    assert (choice.url, choice.argv) == ("http://gpu1:8000", None)


def test_without_a_model_it_is_the_simulator() -> None:
    choice = chosen(EngineWish(), has_gpu=True)
    assert choice.kind == f"simulator {DEFAULT_PROFILE}"
    assert "no --model" in choice.sentence


def test_a_profile_asked_for_is_simulated_on_any_machine() -> None:
    choice = chosen(EngineWish(profile="cpu-tiny", model="m", vllm="/x/vllm"), has_gpu=True)
    assert choice.argv is not None
    assert choice.argv[-8:] == (
        "--simulate",
        "cpu-tiny",
        "--host",
        "127.0.0.1",
        "--port",
        "8000",
        "--model",
        "m",
    )


def test_a_vllm_named_by_the_operator_is_run_with_or_without_a_gpu() -> None:
    wish = EngineWish(model="Qwen/Qwen3-8B", vllm="/opt/vllm/bin/vllm", extra=("--seed", "1"))
    for has_gpu in (True, False):
        choice = chosen(wish, has_gpu=has_gpu)
        assert choice.kind == "vLLM"
        assert choice.argv is not None
        assert choice.argv[-2:] == ("--seed", "1")
        assert choice.argv[3:8] == (
            "engine",
            "--model",
            "Qwen/Qwen3-8B",
            "--vllm",
            "/opt/vllm/bin/vllm",
        )


def test_a_model_without_vllm_is_simulated_under_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    choice = chosen(EngineWish(model="Qwen/Qwen3-8B"), has_gpu=True)
    assert choice.kind.startswith("simulator")
    assert "no vLLM with H-MAS" in choice.why
    assert choice.argv is not None
    assert choice.argv[-2:] == ("--model", "Qwen/Qwen3-8B")


def test_a_vllm_without_h_mas_beside_it_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "python3").symlink_to(sys.executable)
    (tmp_path / "vllm").touch()
    assert not has_plugin(str(tmp_path / "vllm"))
    assert not has_plugin(str(tmp_path / "nowhere" / "vllm"))


def test_children_see_the_same_settings(tmp_path: Path) -> None:
    config = tmp_path / "hmas.yaml"
    config.touch()
    settings = loaded(**{"gateway.port": 9001})
    environ = child_environment(settings, chosen(EngineWish()), {"PATH": "/bin"}, config)
    again = load_settings(environ=environ).settings
    assert again.gateway.port == 9001
    assert (again.runtime_dir, again.state_dir) == (settings.runtime_dir, settings.state_dir)
    assert environ["HMAS_ENGINE_ID"] == again.engines[0].engine_id == "engine0"
    assert again.engines[0].controlled


def test_an_engine_elsewhere_is_only_the_gateways() -> None:
    environ = child_environment(loaded(), chosen(EngineWish(url="http://gpu1:8000")), {}, None)
    [engine] = json.loads(environ["HMAS_ENGINES"])
    assert engine == {"engine_id": "engine0", "url": "http://gpu1:8000", "controlled": False}


def test_an_engine_elsewhere_keeps_its_pump() -> None:
    pumped = loaded(engines=[{"pump": True, "pump_max_running": 64}])
    environ = child_environment(pumped, chosen(EngineWish(url="http://gpu1:8000")), {}, None)
    [engine] = json.loads(environ["HMAS_ENGINES"])
    assert (engine["pump"], engine["pump_max_running"], engine["controlled"]) == (True, 64, False)


def test_engines_with_settings_of_their_own_stay_as_they_are() -> None:
    settings = loaded(engines=[{"engine_id": "a", "max_in_flight": 7}])
    environ = child_environment(
        settings, choose_engine(EngineWish(), settings, has_gpu=False), {}, None
    )
    assert "HMAS_ENGINES" not in environ
    assert environ["HMAS_ENGINE_ID"] == "a"


def test_children_are_started_in_order() -> None:
    settings = loaded()
    specs = children(settings, chosen(EngineWish()), {})
    assert [spec.name for spec in specs] == ["engine", "daemon", "gateway", "console"]
    assert specs[0].ready_url == "http://127.0.0.1:8000/health"
    assert specs[2].grace_s > settings.gateway.drain_timeout_s
    elsewhere = children(
        loaded(**{"console.enabled": False}), chosen(EngineWish(url="http://x")), {}
    )
    assert [spec.name for spec in elsewhere] == ["daemon", "gateway"]


def test_a_port_in_use_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert not is_free("127.0.0.1", port)
        problems = ports_in_use(loaded(**{"admin.port": port}), chosen(EngineWish(url="http://x")))
        assert f"admin.port: 127.0.0.1:{port} is in use" in problems


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://gpu1:8000", ("gpu1", 8000)),
        ("https://gpu1", ("gpu1", 443)),
        ("http://[::1]:80", ("::1", 80)),
    ],
)
def test_addresses_of_urls(url: str, address: tuple[str, int]) -> None:
    assert address_of(url) == address
