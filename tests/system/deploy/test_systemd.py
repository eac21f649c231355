"""The units in deploy/systemd: valid, confined, and without ties that could stop the data plane."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hmas.daemon.settings import load_settings
from hmas.engine.link.config import LinkConfig
from hmas.engine.simulator.server import options_of, parser
from tests.system.deploy.commands import parse_hmas
from tests.system.deploy.units import SYSTEMD, example_environment, read_unit, service

UNITS = sorted(SYSTEMD.glob("*.service"))
NAMES = [unit.name for unit in UNITS]
WITH_SOCKETS = [unit for unit in UNITS if unit.name != "hmas-console.service"]
TIES = ("Requires", "Requisite", "BindsTo", "PartOf", "Conflicts", "Upholds")
MOST_EXPOSED = {"hmas-engine@.service": 2.0}
"""Highest score of ``systemd-analyze security``, 0 the best and 10 the worst; else 1.5."""

PROGRAMS = re.compile(r"/opt/[^ ]+")


def tool(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed (Debian: apt-get install systemd)")
    return path


def command_of(unit: Path, environ: dict[str, str] | None = None) -> list[str]:
    """ExecStart without the program, variables replaced as systemd does."""
    words = []
    for word in service(unit, "ExecStart").split()[1:]:
        if match := re.fullmatch(r"\$\{(\w+)\}", word):
            words.append((environ or {})[match[1]])
        elif match := re.fullmatch(r"\$(\w+)", word):
            words += (environ or {})[match[1]].split()
        else:
            words.append(word)
    return words


def environment_of(unit: Path) -> dict[str, str]:
    pairs = " ".join(read_unit(unit)["Service"].get("Environment", [])).split()
    return dict(pair.split("=", 1) for pair in pairs)


def test_there_is_a_unit_for_each_program() -> None:
    programs = ["console", "daemon", "engine@", "gateway"]
    assert [f"hmas-{program}.service" for program in programs] == NAMES


@pytest.mark.parametrize("unit", UNITS, ids=NAMES)
def test_systemd_accepts_the_unit(unit: Path, tmp_path: Path) -> None:
    copy = tmp_path / unit.name.replace("@.", "@engine0.")
    copy.write_text(PROGRAMS.sub(sys.executable, unit.read_text()))
    command = [tool("systemd-analyze"), "verify", "--man=no", "--generators=no", str(copy)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    complaints = [line for line in done.stderr.splitlines() if copy.name in line]
    assert not complaints, done.stderr
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("unit", UNITS, ids=NAMES)
def test_the_unit_is_confined(unit: Path) -> None:
    highest = MOST_EXPOSED.get(unit.name, 1.5)
    command = [tool("systemd-analyze"), "security", "--offline=yes", "--no-pager"]
    command += [f"--threshold={highest * 10:.0f}", str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-400:] + done.stderr


@pytest.mark.parametrize("unit", UNITS, ids=NAMES)
def test_no_program_stops_with_another(unit: Path) -> None:
    section = read_unit(unit)["Unit"]
    tied = [key for key in TIES if any("hmas" in value for value in section.get(key, []))]
    assert not tied, "a dead daemon must not stop gateway or engine"
    assert section["StartLimitIntervalSec"] == ["0"], "systemd must never give up"
    assert service(unit, "Restart") == "always"


@pytest.mark.parametrize("unit", WITH_SOCKETS, ids=lambda unit: unit.name)
def test_the_sockets_are_shared_and_outlive_each_program(unit: Path) -> None:
    assert service(unit, "RuntimeDirectory") == "hmas"
    assert service(unit, "RuntimeDirectoryPreserve") == "yes", "stopping one would remove them all"
    assert service(unit, "RuntimeDirectoryMode") == "0700", "the link refuses a wider directory"
    assert service(unit, "User") == "hmas", "socket files belong to one user"


def test_only_the_daemon_sees_database_and_token() -> None:
    for unit in UNITS:
        hidden = service(unit, "InaccessiblePaths").split()
        owner = unit.name == "hmas-daemon.service"
        assert ("-/var/lib/hmas" in hidden) is not owner, unit.name
        assert (service(unit, "StateDirectory") == "hmas") is owner, unit.name


def test_zeromq_may_set_the_policy_of_its_threads() -> None:
    """libzmq ends the process when ``sched_setscheduler`` fails."""
    for unit in WITH_SOCKETS:
        filters = read_unit(unit)["Service"]["SystemCallFilter"]
        assert not any("@resources" in value for value in filters), unit.name


@pytest.mark.parametrize("name", ["daemon", "gateway"])
def test_programs_that_say_ready_are_waited_for(name: str) -> None:
    assert service(SYSTEMD / f"hmas-{name}.service", "Type") == "notify"
    assert service(SYSTEMD / f"hmas-{name}.service", "NotifyAccess") == "main"


def test_only_programs_that_say_that_they_live_are_watched() -> None:
    watched = [unit.name for unit in UNITS if service(unit, "WatchdogSec")]
    assert watched == ["hmas-daemon.service", "hmas-gateway.service"]


def test_draining_fits_into_the_time_to_stop() -> None:
    settings = load_settings(SYSTEMD / "hmas.yaml", environ={"HOME": "/nonexistent"}).settings
    allowed_s = float(service(SYSTEMD / "hmas-gateway.service", "TimeoutStopSec"))
    assert allowed_s > settings.gateway.drain_timeout_s + 5


@pytest.mark.parametrize("name", ["console", "daemon", "gateway"])
def test_the_command_exists_and_reads_the_settings_file(name: str) -> None:
    unit = SYSTEMD / f"hmas-{name}.service"
    assert parse_hmas(command_of(unit)).name == name
    assert environment_of(unit)["HMAS_CONFIG"] == "/etc/hmas/hmas.yaml"


def test_the_engine_unit_runs_vllm_as_its_example_says() -> None:
    unit = SYSTEMD / "hmas-engine@.service"
    example = example_environment(SYSTEMD / "engine.env.example")
    parsed = parse_hmas(command_of(unit, environment_of(unit) | example))
    assert parsed.name == "engine"
    assert parsed.options["model"] == "Qwen/Qwen3-8B"
    assert parsed.options["vllm"] == "/opt/hmas-vllm/current/bin/vllm"
    loopback = ["--host", "127.0.0.1", "--port", "8000"]
    assert parsed.passed_on == [*loopback, "--max-num-seqs", "256"]


def test_the_engine_unit_runs_the_simulator_where_the_daemon_looks() -> None:
    unit = SYSTEMD / "hmas-engine@.service"
    environ = environment_of(unit) | {"HMAS_ENGINE_ARGS": "--simulate a100-qwen3-8b"}
    parsed = parse_hmas(command_of(unit, environ))
    profile = parsed.options["simulate"]
    options = options_of(parser().parse_args([profile, *parsed.passed_on]))
    assert (options.host, options.port) == ("127.0.0.1", 8000)
    settings = load_settings(SYSTEMD / "hmas.yaml", environ={"HOME": "/nonexistent"}).settings
    link = LinkConfig.from_environment(environ | {"HMAS_ENGINE_ID": "engine0"})
    assert settings.engines[0].links(settings.runtime_dir, workers=1) == [link]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make users")
def test_user_and_directories_are_made_private(tmp_path: Path) -> None:
    sysusers, tmpfiles = tool("systemd-sysusers"), tool("systemd-tmpfiles")
    root = tmp_path / "root"
    (root / "etc" / "hmas").mkdir(parents=True)
    secret = root / "etc" / "hmas" / "gateway.env"
    secret.touch(mode=0o644)
    for program, name in ((sysusers, "hmas.sysusers.conf"), (tmpfiles, "hmas.tmpfiles.conf")):
        create = ["--create"] if program == tmpfiles else []
        command = [program, f"--root={root}", *create, str(SYSTEMD / name)]
        subprocess.run(command, check=True, capture_output=True)
    assert "hmas:" in (root / "etc" / "passwd").read_text()
    assert secret.stat().st_mode & 0o777 == 0o600
    for directory in ("run/hmas", "var/lib/hmas"):
        status = (root / directory).stat()
        assert status.st_mode & 0o777 == 0o700
        assert status.st_uid != 0
