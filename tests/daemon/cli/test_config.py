"""``hmas config``: every problem of a file, named with where it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from hmas.daemon.config.shown import documentation
from tests.daemon.cli.conftest import Hmas


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "hmas.yaml"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("gateway: {prot: 8001}", "gateway.prot: unknown key; did you mean 'port'?"),
        ("gateway: {port: high}", "gateway.port"),
        ("gateway: [1, 2]", "gateway"),
        ("gateway: {port: 1", "is not YAML"),
        ("- gateway", "must hold keys and values"),
        ("gateway: &a [*a]", "gateway"),
    ],
)
def test_a_wrong_file_is_named_key_by_key(text: str, named: str, file: Path, hmas: Hmas) -> None:
    file.write_text(text)
    assert named in hmas.says(1, "config", "check", str(file))
    result = hmas("status", "--config", str(file))
    assert result.exit_code == 2, "no command starts with wrong settings"
    assert "the settings cannot be used" in result.stderr


def test_all_problems_are_told_at_once(file: Path, hmas: Hmas) -> None:
    file.write_text("gateway: {prot: 1, port: 0.5}\nadmni: {}\n")
    result = hmas("config", "check", str(file), "--json")
    assert result.exit_code == 1
    assert '"ok": false' in result.stdout
    for key in ("gateway.prot", "gateway.port", "admni"):
        assert f'"key": "{key}"' in result.stdout


def test_directories_must_be_absolute(file: Path, hmas: Hmas) -> None:
    file.write_text("runtime_dir: run\n")
    said = hmas.says(1, "config", "check", str(file))
    assert "runtime_dir must be an absolute path" in said


def test_a_good_file_can_be_used(file: Path, hmas: Hmas) -> None:
    file.write_text("gateway: {port: 9001}\n")
    assert "can be used" in hmas.says(0, "config", "check", str(file))
    assert hmas.json("config", "check", str(file)) == {"ok": True, "problems": []}


def test_a_missing_file_and_a_directory_are_named(tmp_path: Path, hmas: Hmas) -> None:
    missing = tmp_path / "none.yaml"
    assert "No such file" in hmas.says(1, "config", "check", str(missing))
    assert "Is a directory" in hmas.says(1, "config", "check", str(tmp_path))
    assert str(missing) in hmas.says(2, "config", "show", "--config", str(missing))


def test_an_unreadable_file_is_named(powerless: Hmas) -> None:
    file = powerless.folder / "hmas.yaml"
    file.touch(mode=0o000)
    assert "Permission denied" in powerless.says(1, "config", "check", str(file))


def test_bytes_that_are_no_text_are_named(file: Path, hmas: Hmas) -> None:
    file.write_bytes(b"\xff\xfe\x00")
    assert "is not YAML" in hmas.says(1, "config", "check", str(file))


def test_show_says_where_each_value_came_from(file: Path, hmas: Hmas) -> None:
    file.write_text("gateway: {port: 9001}\n")
    rows = hmas.json(
        "config", "show", "--changed", "-c", str(file), HMAS_ADMIN__TOKEN="secret-0123456789abc"
    )
    shown = {row["key"]: (row["value"], row["origin"]) for row in rows}
    assert shown["gateway.port"] == ("9001", f"file {file}")
    assert shown["state_dir"][1] == "environment HMAS_STATE_DIR"
    assert "secret-0123456789abc" not in str(rows)
    said = hmas.says(0, "config", "show", "--config", str(file))
    assert "gateway.port" in said
    assert "control.cycle_s" in said


def test_a_wrong_variable_is_named(hmas: Hmas) -> None:
    said = hmas.says(2, "config", "show", HMAS_GATEWAY__PROT="1")
    assert "environment HMAS_GATEWAY__PROT" in said
    assert "did you mean 'port'?" in said


def test_the_page_of_settings_is_printed_as_it_is(hmas: Hmas) -> None:
    result = hmas("config", "docs")
    assert result.exit_code == 0
    assert result.stdout == documentation()
