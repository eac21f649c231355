"""What a reload can take up."""

from __future__ import annotations

from hmas.daemon.control.reload import changed_keys, needs_restart
from hmas.daemon.settings import Settings, load_settings


def loaded(**flags: object) -> Settings:
    environ = {"XDG_RUNTIME_DIR": "/run/user/7", "XDG_STATE_HOME": "/home/op/state"}
    return load_settings(environ=environ, flags=flags).settings


def test_nothing_changed() -> None:
    assert changed_keys(loaded(), loaded()) == []


def test_changes_are_named_and_those_that_must_wait_are_told_apart() -> None:
    new = loaded(
        **{
            "control.cycle_s": 0.5,
            "daemon.log_every_s": 5,
            "daemon.engine_timeout_s": 5,
            "admin.port": 9000,
        }
    )
    changed = changed_keys(loaded(), new)
    assert changed == ["control", "admin", "daemon.engine_timeout_s", "daemon.log_every_s"]
    assert needs_restart(changed) == ["admin", "daemon.engine_timeout_s"]
