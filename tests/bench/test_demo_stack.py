from __future__ import annotations

import socket
from pathlib import Path

import yaml

from hmas.bench.demo_stack import DEFAULT_PORTS, HOST, META_S, free_ports, settings_tree
from hmas.daemon.settings import load_settings


def test_a_port_in_use_is_replaced() -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        wanted = taken.getsockname()[1]
        ports = free_ports({"gateway": wanted, "admin": wanted})
    assert wanted not in ports.values()
    assert len(set(ports.values())) == 2


def test_the_configuration_is_valid_and_keeps_to_its_folder(tmp_path: Path) -> None:
    config = tmp_path / "hmas.yaml"
    config.write_text(yaml.safe_dump(settings_tree(tmp_path, DEFAULT_PORTS, "demo-secret-key")))
    settings = load_settings(config, environ={}).settings
    assert settings.control.meta_s == META_S
    assert settings.state_dir.parent == settings.runtime_dir.parent == tmp_path
    assert settings.engines[0].base_url == "http://127.0.0.1:8000"
    key = settings.gateway.keys[0]
    assert key.trusted
    assert key.key.get_secret_value() == "demo-secret-key"
