"""The example of /etc/hmas/hmas.yaml and of the files with secrets, read by the real loader."""

from __future__ import annotations

from pathlib import Path

import pytest

from hmas.daemon.settings import Settings, load_settings
from tests.system.deploy.units import REPOSITORY, SYSTEMD, example_environment

CONTAINER = REPOSITORY / "deploy" / "container"
FILES = [SYSTEMD / "hmas.yaml", CONTAINER / "hmas.yaml"]
NO_ENVIRONMENT = {"HOME": "/nonexistent"}


def names(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


@pytest.mark.parametrize("path", FILES, ids=names)
def test_the_example_can_be_used(path: Path) -> None:
    settings = load_settings(path, environ=NO_ENVIRONMENT).settings
    assert settings.runtime_dir == Path("/run/hmas")
    assert settings.state_dir == Path("/var/lib/hmas")
    assert [engine.engine_id for engine in settings.engines] == ["engine0"]


@pytest.mark.parametrize("path", FILES, ids=names)
def test_the_example_holds_no_secret_and_listens_on_loopback(path: Path) -> None:
    settings = load_settings(path, environ=NO_ENVIRONMENT).settings
    assert not settings.gateway.keys
    assert not settings.admin.tokens
    assert settings.storage.url is None
    hosts = {settings.gateway.host, settings.admin.host, settings.console.host}
    assert hosts == {"127.0.0.1"}


def with_example(file: Path, *examples: Path) -> Settings:
    environ = dict(NO_ENVIRONMENT)
    for example in examples:
        environ |= example_environment(example)
    return load_settings(file, environ=environ).settings


def test_the_gateway_takes_its_keys_and_its_address_together() -> None:
    settings = with_example(SYSTEMD / "hmas.yaml", SYSTEMD / "gateway.env.example")
    assert settings.gateway.host == "0.0.0.0"
    assert [key.tenant for key in settings.gateway.keys] == ["team-a"]


def test_the_daemon_takes_its_secrets() -> None:
    environ = NO_ENVIRONMENT | example_environment(SYSTEMD / "daemon.env.example")
    environ["HMAS_META__LLM__BASE_URL"] = "http://127.0.0.1:8000/v1"
    environ["HMAS_META__LLM__MODEL"] = "m"
    settings = load_settings(SYSTEMD / "hmas.yaml", environ=environ).settings
    assert settings.storage_url.startswith("postgresql://")
    assert settings.meta.llm is not None
    assert settings.meta.llm.api_key is not None
    assert [token.name for token in settings.admin.tokens] == ["operator"]
