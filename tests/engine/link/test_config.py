import os
from pathlib import Path

import pytest

from hmas.engine.link.config import LinkConfig, LinkConfigError, runtime_dir
from hmas.engine.link.curve import create_keys


def test_defaults_are_two_files_in_the_runtime_directory() -> None:
    config = LinkConfig.from_environment({"XDG_RUNTIME_DIR": "/run/user/7"})
    assert config.engine_id == "engine0"
    assert config.control_endpoint == "ipc:///run/user/7/hmas/engine0.control"
    assert config.events_endpoint == "ipc:///run/user/7/hmas/engine0.events"
    assert config.curve is None


def test_runtime_directory_precedence() -> None:
    both = {"HMAS_RUNTIME_DIR": "/a", "XDG_RUNTIME_DIR": "/b"}
    assert runtime_dir(both) == Path("/a")
    assert runtime_dir({"XDG_RUNTIME_DIR": "/b"}) == Path("/b/hmas")
    assert runtime_dir({}) == Path(f"/tmp/hmas-{os.getuid()}")


def test_each_data_parallel_rank_has_its_own_id_and_addresses(tmp_path: Path) -> None:
    create_keys(tmp_path / "keys")
    environ = {
        "HMAS_ENGINE_ID": "gpu7",
        "HMAS_RUNTIME_DIR": "/r",
        "HMAS_LINK_CURVE_DIR": str(tmp_path / "keys"),
        "HMAS_LINK_EVENTS": "tcp://10.0.0.1:7000",
    }
    config = LinkConfig.from_environment(environ, rank=1, size=2)
    assert config.engine_id == "gpu7-dp1"
    assert config.control_endpoint == "ipc:///r/gpu7-dp1.control"
    assert config.events_endpoint == "tcp://10.0.0.1:7001"
    assert config.curve is not None


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({"HMAS_LINK_CONTROL": "tcp://0.0.0.0:7000"}, "HMAS_LINK_CURVE_DIR"),
        ({"HMAS_LINK_EVENTS": "http://x"}, "HMAS_LINK_EVENTS"),
        ({"HMAS_ENGINE_ID": "../x"}, "HMAS_ENGINE_ID"),
        ({"HMAS_RUNTIME_DIR": "/" + "x" * 120}, "at most 107 bytes"),
        ({"HMAS_RUNTIME_DIR": "relative"}, "absolute path"),
    ],
)
def test_a_wrong_setting_is_named(environ: dict[str, str], message: str) -> None:
    with pytest.raises(LinkConfigError, match=message):
        LinkConfig.from_environment(environ)
