from __future__ import annotations

from pathlib import Path

import pytest
import typer

from hmas.daemon.cli.client import AdminError
from hmas.daemon.cli.context import admin
from hmas.daemon.cli.exits import Exit

TOKEN = "operator-0123456789abcdef"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "hmas.yaml"
    file.write_text(
        f"runtime_dir: {tmp_path}/run\nstate_dir: {tmp_path}/state\n"
        f"admin:\n  tokens:\n    - {{name: me, role: operator, token: {TOKEN}}}\n"
    )
    return file


@pytest.mark.parametrize(
    ("url", "token", "sent"),
    [
        (None, None, f"Bearer {TOKEN}"),
        ("http://localhost:8002", None, f"Bearer {TOKEN}"),
        ("http://daemon.example.org", None, None),
        ("http://daemon.example.org", "given-0123456789", "Bearer given-0123456789"),
    ],
)
def test_only_a_given_token_leaves_this_machine(
    config: Path, url: str | None, token: str | None, sent: str | None
) -> None:
    with admin(config, url, token) as client:
        assert client._http.headers.get("authorization") == sent


def test_a_refusal_ends_the_command_with_its_code(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as ended, admin(config, None, None):
        raise AdminError("no such engine", Exit.USAGE, "see hmas status")
    assert ended.value.exit_code == Exit.USAGE
    assert "fix: see hmas status" in capsys.readouterr().err
