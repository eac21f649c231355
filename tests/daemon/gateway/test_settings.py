from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from hmas.controllers.prediction.hardware import GPUS
from hmas.daemon.gateway.settings import (
    ApiKey,
    EngineTarget,
    GatewaySettings,
    HardwareSettings,
    is_loopback,
)

KEY = {"key": "a-good-key", "tenant": "a"}
HARDWARE = {"gpu": "H100", "parameters_b": 8, "layers": 36, "heads": 32, "vocabulary": 151_936}


def hardware(**changes: object) -> dict[str, object]:
    return {"engines": [{"hardware": HARDWARE | changes}]}


def test_defaults_are_one_local_engine_and_an_open_loopback() -> None:
    settings = GatewaySettings()
    assert (settings.host, settings.port, settings.workers) == ("127.0.0.1", 8001, 1)
    assert settings.engines[0].base_url == "http://127.0.0.1:8000"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.4", "gateway.example.org"])
def test_an_open_gateway_binds_to_loopback_only(host: str) -> None:
    with pytest.raises(ValidationError, match=r"no keys are configured: add gateway\.keys"):
        GatewaySettings(host=host)
    assert GatewaySettings.model_validate({"host": host, "keys": [KEY]}).host == host


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost"])
def test_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"prot": 1}, "prot"),
        ({"port": 70_000}, "port"),
        ({"engines": []}, "engines"),
        ({"engines": [{"url": "ftp://x"}]}, "url"),
        ({"engines": [{}, {}]}, "engine_id must be unique, given twice: engine0"),
        ({"keys": [KEY, KEY]}, "must be unique, given twice: the same value"),
        ({"keys": [{"key": "short"}]}, "at least 8 ASCII characters"),
        ({"keys": [{"key": "with a space"}]}, "no white space"),
        ({"workers": 0}, "workers"),
        ({"cost_model": ""}, "cost_model"),
        (hardware(gpu="H900"), "hardware.gpu"),
        (hardware(gpu="H900"), "unknown GPU 'H900': write one of T4, V100"),
        (hardware(parameters_b=0), "hardware.parameters_b"),
        (hardware(gpus=0), "hardware.gpus"),
        (hardware(vocabulary=None), "hardware.vocabulary"),
        ({"engines": [{"hardware": {"gpu": "H100"}}]}, "hardware.layers"),
    ],
)
def test_mistakes_are_named(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError) as raised:
        GatewaySettings.model_validate(fields)
    assert message in str(raised.value)


def test_hardware_is_what_a_cost_model_needs() -> None:
    [engine] = GatewaySettings.model_validate(hardware(gpus=2)).engines
    assert engine.hardware is not None
    shape = engine.hardware.shape()
    assert (shape.gpus, shape.memory_gb, shape.layers) == (2, 80, 36)


def test_every_known_gpu_is_named_in_the_settings() -> None:
    assert all(f" {gpu}" in (HardwareSettings.__doc__ or "") for gpu in GPUS)


def test_secrets_do_not_show() -> None:
    settings = GatewaySettings.model_validate(
        {"keys": [KEY], "engines": [{"api_key": "engine-secret"}]}
    )
    assert "a-good-key" not in repr(settings)
    assert "engine-secret" not in repr(settings)
    with pytest.raises(ValidationError) as raised:
        ApiKey.model_validate({"key": "secret one"})
    assert "secret one" not in str(raised.value)


@pytest.mark.parametrize("url", ["http://h:1", "http://h:1/", "http://h:1/v1", "http://h:1/v1/"])
def test_engine_urls_with_and_without_v1(url: str) -> None:
    assert EngineTarget.model_validate({"url": url}).base_url == "http://h:1"


def test_endpoints_of_the_control_link() -> None:
    settings = GatewaySettings()
    assert settings.runtime_endpoints(Path("/run/hmas")) == (
        "ipc:///run/hmas/gateway-events",
        "ipc:///run/hmas/notices",
    )
    tcp = {"events_endpoint": "tcp://a:1", "notices_endpoint": "tcp://a:2"}
    moved = GatewaySettings.model_validate(tcp | {"curve_dir": "/keys"})
    assert moved.runtime_endpoints(Path("/run/hmas")) == ("tcp://a:1", "tcp://a:2")
    with pytest.raises(ValidationError, match="events_endpoint tcp://a:1: only ipc://"):
        GatewaySettings.model_validate(tcp)


def test_every_worker_can_pump_at_least_one_request() -> None:
    engine = {"pump": True, "pump_max_running": 3}
    GatewaySettings.model_validate({"engines": [engine], "workers": 3})
    with pytest.raises(ValidationError, match="at least one"):
        GatewaySettings.model_validate({"engines": [engine], "workers": 4})


@pytest.mark.parametrize(
    ("given", "meant"), [(False, "off"), ("off", "off"), ("a.model", "a.model")]
)
def test_yaml_reads_a_bare_off_as_false(given: object, meant: str) -> None:
    assert GatewaySettings.model_validate({"length_model": given}).length_model == meant
    with pytest.raises(ValidationError):
        GatewaySettings.model_validate({"length_model": ""})


def test_a_challenger_needs_somebody_to_challenge() -> None:
    both = {"length_model": "shipped", "length_challenger": "own.model"}
    assert GatewaySettings.model_validate(both).length_challenger == "own.model"
    assert GatewaySettings.model_validate({"length_challenger": False}).length_challenger == "off"
    with pytest.raises(ValidationError, match="set length_model"):
        GatewaySettings.model_validate({"length_challenger": "own.model"})
