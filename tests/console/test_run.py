"""How the console is started."""

from __future__ import annotations

import tomllib
from pathlib import Path

from hmas.console import palette, run
from hmas.console.settings import ConsoleSettings


def test_it_listens_quietly_and_only_where_it_is_told() -> None:
    arguments = run.command("127.0.0.1", 8501)
    assert arguments[3:4] == ["run"]
    assert Path(arguments[4]).name == "app.py"
    for flag in (
        "--server.headless=true",
        "--server.address=127.0.0.1",
        "--server.enableXsrfProtection=true",
        "--browser.gatherUsageStats=false",
        "--server.allowedHosts=localhost",
    ):
        assert flag in arguments


def test_other_addresses_keep_their_names() -> None:
    assert not any("allowedHosts" in flag for flag in run.command("0.0.0.0", 8501))


def test_the_pages_learn_where_the_admin_api_is() -> None:
    environment = run.environment("http://127.0.0.1:9", {"PATH": "/bin"})
    assert environment == {"PATH": "/bin", "HMAS_CONSOLE_ADMIN_URL": "http://127.0.0.1:9"}


def test_arguments() -> None:
    chosen = run.parse(["--port", "9000", "--admin-url", "http://a"])
    assert (chosen.host, chosen.port, chosen.admin_url) == ("127.0.0.1", 9000, "http://a")


def test_the_theme_is_found_beside_the_app_and_agrees_with_the_palette() -> None:
    theme = tomllib.loads((Path(run.__file__).parent / ".streamlit" / "config.toml").read_text())[
        "theme"
    ]
    assert theme["textColor"] == palette.TEXT
    assert theme["primaryColor"] == palette.BLUE
    assert theme["greenColor"] == palette.GREEN


def test_defaults_are_local() -> None:
    settings = ConsoleSettings()
    assert settings.admin_url == "http://127.0.0.1:8002"
    assert settings.refresh_s == 2.0
