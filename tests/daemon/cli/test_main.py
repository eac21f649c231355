"""Every command has help with an example; version; the pages that list commands."""

from __future__ import annotations

import subprocess
import sys

import pytest
import typer

from hmas.daemon.cli.main import app
from tests.daemon.cli.conftest import Hmas

VERBS = {
    "up",
    "gateway",
    "daemon",
    "engine",
    "console",
    "status",
    "topology",
    "pin",
    "unpin",
    "set",
    "bypass",
    "decisions",
    "replay",
    "bench",
    "tag",
    "train",
    "config",
    "db",
    "doctor",
    "version",
}
SAYS_NOTHING = {"gateway", "daemon", "engine", "console", "bench", "config docs"}
"""Commands that run a program, or print a page: without ``--json``."""


def commands(group: object = None, prefix: str = "") -> dict[str, object]:
    """Every command by its words."""
    found: dict[str, object] = {}
    group = group or typer.main.get_command(app)
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        if hasattr(command, "commands"):
            found |= commands(command, f"{prefix}{name} ")
        else:
            found[f"{prefix}{name}"] = command
    return found


def test_the_verbs_are_all_there() -> None:
    assert {name.split()[0] for name in commands()} == VERBS


@pytest.mark.parametrize("name", sorted(commands()))
def test_every_command_has_help_with_an_example(name: str) -> None:
    text = commands()[name].help  # type: ignore[attr-defined]
    assert "Example" in text
    assert f"hmas {name}" in text


@pytest.mark.parametrize("name", sorted(set(commands()) - SAYS_NOTHING - {"replay"}))
def test_everything_that_prints_can_print_json(name: str) -> None:
    options = [option for one in commands()[name].params for option in one.opts]  # type: ignore[attr-defined]
    assert "--json" in options


def test_help_is_shown_without_arguments(hmas: Hmas) -> None:
    assert "Usage: hmas" in hmas().output


def test_version(hmas: Hmas) -> None:
    assert hmas.says(0, "version").startswith("hmas ")
    assert set(hmas.json("version")) == {"hmas", "python"}


def test_replay_hands_over_to_the_bench(hmas: Hmas) -> None:
    assert "--trace" in hmas.says(0, "replay", "--help")
    assert hmas("replay", "--control", "nonsense").exit_code == 2


def test_an_unknown_benchmark_lists_those_there_are(hmas: Hmas) -> None:
    assert "gateway: added latency" in hmas.says(2, "bench", "nonsense")


def test_wrong_usage_is_two(hmas: Hmas) -> None:
    assert hmas("status", "--nonsense").exit_code == 2


def test_no_command_pays_for_what_only_others_need() -> None:
    code = (
        "import sys, hmas.daemon.cli.main;"
        "heavy = ('numba', 'openai', 'alembic', 'aiohttp', 'uvicorn', 'catboost', 'streamlit');"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
