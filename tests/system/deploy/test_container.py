"""Containerfile and compose.yaml: consistent with each other, the command line and the settings.

There is no container engine where these tests run: nothing is built or started here.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml

from hmas.console.run import parse as parse_console
from hmas.daemon.settings import Settings, load_settings
from hmas.engine.link.config import LinkConfig
from hmas.engine.simulator.server import options_of, parser
from tests.system.deploy.commands import parse_hmas
from tests.system.deploy.units import REPOSITORY, example_environment

CONTAINER = REPOSITORY / "deploy" / "container"
COMPOSE: dict[str, Any] = yaml.safe_load((CONTAINER / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
PROGRAMS = ("console", "daemon", "engine", "gateway")
SECRET = re.compile(r"KEY|TOKEN|PASSWORD|SECRET|STORAGE__URL")
PORTS = {"console": 8501, "daemon": 8002, "gateway": 8001}


def instructions() -> list[tuple[str, str]]:
    """Of the Containerfile, continued lines joined."""
    text = (CONTAINER / "Containerfile").read_text()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [(line.split()[0], line.split(None, 1)[1]) for line in joined.splitlines() if line]


def given(keyword: str) -> list[str]:
    return [rest for name, rest in instructions() if name == keyword]


def image_environment() -> dict[str, str]:
    pairs = shlex.split(" ".join(given("ENV")))
    return dict(pair.split("=", 1) for pair in pairs)


def env_files(service: dict[str, Any]) -> list[str]:
    files = service.get("env_file", [])
    return [entry if isinstance(entry, str) else entry["path"] for entry in files]


def environment(name: str) -> dict[str, str]:
    """What the container sees, with the examples as its secrets, lines in force only."""
    found = image_environment()
    for file in env_files(SERVICES[name]):
        example = CONTAINER / f"{file}.example"
        in_force = {line.partition("=")[0] for line in example.read_text().splitlines()}
        shown = example_environment(example)
        found |= {key: value for key, value in shown.items() if key in in_force}
    return found | SERVICES[name]["environment"]


def settings_of(name: str) -> Settings:
    environ = {key: value for key, value in environment(name).items() if key.startswith("HMAS_")}
    environ.pop("HMAS_CONFIG", None)
    environ["HOME"] = "/nonexistent"
    return load_settings(CONTAINER / "hmas.yaml", environ=environ).settings


def mounts(name: str) -> dict[str, str]:
    """Target -> source."""
    pairs = (volume.split(":")[:2] for volume in SERVICES[name].get("volumes", []))
    return {target: source for source, target in pairs}


def test_every_program_of_ours_is_the_same_confined_image() -> None:
    assert sorted(SERVICES) == sorted([*PROGRAMS, "postgres"])
    for name in PROGRAMS:
        service = SERVICES[name]
        assert service["image"] == "hmas:local"
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        build = service["build"]
        assert (CONTAINER / build["context"]).resolve() == REPOSITORY
        assert (REPOSITORY / build["dockerfile"]) == CONTAINER / "Containerfile"


def test_no_program_waits_for_another() -> None:
    for name, service in SERVICES.items():
        assert "depends_on" not in service, name
        assert not str(service.get("network_mode", "")).startswith("service:"), name


@pytest.mark.parametrize("name", ["daemon", "gateway", "engine"])
def test_the_command_exists(name: str) -> None:
    assert "entrypoint" not in SERVICES[name]
    assert given("ENTRYPOINT") == ['["hmas"]']
    assert parse_hmas(SERVICES[name]["command"]).name == name


def test_the_console_asks_the_daemon() -> None:
    console = SERVICES["console"]
    assert console["entrypoint"] == ["python", "-m", "hmas.console.run"]
    chosen = parse_console(console["command"])
    assert chosen.port == PORTS["console"]
    assert chosen.admin_url == f"http://daemon:{settings_of('daemon').admin.port}"


def test_the_engine_is_where_gateway_and_daemon_look() -> None:
    environ = environment("engine")
    parsed = parse_hmas(SERVICES["engine"]["command"])
    key = environ["HMAS_ENGINE_API_KEY"]
    arguments = [parsed.options["simulate"], *parsed.passed_on, "--api-key", key, "--no-link"]
    options = options_of(parser().parse_args(arguments))
    [target] = settings_of("gateway").gateway_settings().engines
    assert target.base_url == f"http://engine:{options.port}"
    assert target.api_key is not None
    assert target.api_key.get_secret_value() == key
    daemon = settings_of("daemon")
    link = LinkConfig.from_environment(environ)
    (engine,) = daemon.engines
    assert engine.links(daemon.runtime_dir, workers=1) == [link]
    assert target.engine_id == link.engine_id


def test_each_program_accepts_its_settings() -> None:
    gateway, daemon = settings_of("gateway"), settings_of("daemon")
    assert (gateway.gateway.host, gateway.gateway.port) == ("0.0.0.0", PORTS["gateway"])
    assert (daemon.admin.host, daemon.admin.port) == ("0.0.0.0", PORTS["daemon"])
    for name in ("gateway", "daemon"):
        assert mounts(name)[environment(name)["HMAS_CONFIG"]] == "./hmas.yaml"
    grace_s = float(SERVICES["gateway"]["stop_grace_period"].removesuffix("s"))
    assert grace_s > gateway.gateway.drain_timeout_s + 5


def test_volumes_are_declared_and_shared_as_the_settings_say() -> None:
    settings = settings_of("daemon")
    for name in ("daemon", "engine", "gateway"):
        assert mounts(name)[str(settings.runtime_dir)] == "sockets"
        assert image_environment()["HMAS_RUNTIME_DIR"] == str(settings.runtime_dir)
    owners = [name for name in PROGRAMS if str(settings.state_dir) in mounts(name)]
    assert owners == ["daemon"], "database and token are the daemon's alone"
    named = {source for name in SERVICES for source in mounts(name).values()}
    assert {source for source in named if "/" not in source} == set(COMPOSE["volumes"])
    for source in (source for source in named if "/" in source):
        assert (CONTAINER / source).is_file()


def test_ports_are_published_on_loopback_only() -> None:
    published = {}
    for name, service in SERVICES.items():
        for port in service.get("ports", []):
            host, outside, inside = port.split(":")
            assert host == "127.0.0.1"
            assert outside == inside
            published[name] = int(inside)
    assert published == PORTS
    assert set(published.values()) <= set(map(int, given("EXPOSE")[0].split()))


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_health_check_asks_the_program_itself(name: str) -> None:
    url = re.fullmatch(r"http://127\.0\.0\.1:(\d+)(/\S+)", environment(name)["HEALTH_URL"])
    assert url is not None
    assert int(url[1]) == (PORTS | {"engine": 8000})[name]
    paths = {"engine": "/health", "console": "/_stcore/health"}
    assert url[2] == paths.get(name, "/livez"), "alive, not ready: a restart helps no engine"
    assert SERVICES[name]["healthcheck"]["test"] == ["CMD", "healthy"]


def test_secrets_are_only_in_files_that_git_and_the_image_leave_out() -> None:
    for name, service in SERVICES.items():
        assert not [key for key in service.get("environment", {}) if SECRET.search(key)], name
        for file in env_files(service):
            assert file.endswith(".env")
            assert (CONTAINER / f"{file}.example").is_file(), f"no example of {file}"
            ignored = ["git", "check-ignore", "--quiet", str(CONTAINER / file)]
            assert subprocess.run(ignored, cwd=REPOSITORY, check=False).returncode == 0
    assert not [key for key in image_environment() if SECRET.search(key)]
    assert not given("ARG")
    left_out = (CONTAINER / "Containerfile.dockerignore").read_text().splitlines()
    assert left_out[1] == "*"
    assert left_out[-1] == "**/*.env"


def test_the_image_is_slim_staged_and_not_root() -> None:
    bases = given("FROM")
    assert bases == ["python:3.11-slim AS build", "python:3.11-slim"]
    assert given("USER") == ["10001:10001"]
    assert [name for name, _ in instructions()].index("USER") > 0
    assert ".[all]" in " ".join(given("RUN"))


def test_the_build_sees_everything_that_the_wheel_is_made_of() -> None:
    left_out = (CONTAINER / "Containerfile.dockerignore").read_text().splitlines()
    kept = {line.removeprefix("!") for line in left_out if line.startswith("!")}
    assert not [name for name in kept if not (REPOSITORY / name).exists()]
    rooms = {path.name for path in (REPOSITORY / "src" / "hmas").iterdir() if path.is_symlink()}
    assert rooms | {"src", "pyproject.toml", "README.md", "LICENSE"} <= kept
    copied = [rest.split()[-2] for rest in given("COPY") if "--from" not in rest]
    assert [source for source in copied if source != "."] == ["deploy/container/healthy.py"]


class _Answer(BaseHTTPRequestHandler):
    def __init__(self, status: int, *arguments: Any) -> None:
        self._status = status
        super().__init__(*arguments)

    def do_GET(self) -> None:
        self.send_response(self._status)
        self.end_headers()

    def log_message(self, format: str, *_: object) -> None:  # noqa: A002 - the base's name
        del format


def healthy(url: str) -> int:
    program = [sys.executable, str(CONTAINER / "healthy.py")]
    environ = {"HEALTH_URL": url, "HTTP_PROXY": "http://127.0.0.1:9"}
    return subprocess.run(program, env=environ, capture_output=True, check=False).returncode


@pytest.mark.parametrize(("status", "code"), [(200, 0), (503, 1)])
def test_healthy_believes_the_status(status: int, code: int) -> None:
    with HTTPServer(("127.0.0.1", 0), partial(_Answer, status)) as server:
        thread = Thread(target=server.handle_request)
        thread.start()
        assert healthy(f"http://127.0.0.1:{server.server_port}/livez") == code
        thread.join()


def test_healthy_says_when_nobody_answers_and_when_nobody_is_asked() -> None:
    with HTTPServer(("127.0.0.1", 0), partial(_Answer, 200)) as server:
        port = server.server_port
    assert healthy(f"http://127.0.0.1:{port}/livez") == 1
    assert healthy("nonsense") == 1
    assert healthy("") == 0


def test_examples_hold_placeholders_only() -> None:
    for example in Path(CONTAINER).glob("*.env.example"):
        for name, value in example_environment(example).items():
            if SECRET.search(name):
                assert "replace-this" in value or "key-of" in value, f"{example.name}: {name}"
