"""Settings as they hold, with where each came from; and the page that lists them all."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hmas.daemon.config.schema import keys_of
from hmas.daemon.config.shown import Shown, documentation, held
from hmas.daemon.config.words import MASK
from hmas.daemon.settings import Settings, load_settings


@pytest.fixture
def shown(tmp_path: Path) -> dict[str, Shown]:
    file = tmp_path / "hmas.yaml"
    file.write_text("gateway: {port: 9001, access_log: false}\nlog: {level: debug}\n")
    environ = {"HMAS_GATEWAY__PORT": "9002", "HMAS_ADMIN__TOKEN": "0123456789-0123456789"}
    environ |= {"HMAS_STORAGE__URL": "postgresql://hmas:hidden@db/hmas"}
    loaded = load_settings(file, environ, {"log.level": "error"})
    return {row.key: row for row in held(loaded)}


def test_the_strongest_layer_is_named(shown: dict[str, Shown]) -> None:
    port, level = shown["gateway.port"], shown["log.level"]
    assert (port.value, port.origin) == ("9002", "environment HMAS_GATEWAY__PORT")
    assert (level.value, level.origin) == ("error", "flag")
    assert shown["gateway.access_log"].origin.startswith("file ")
    assert shown["gateway.host"].origin == "default"


def test_secrets_are_masked(shown: dict[str, Shown]) -> None:
    assert shown["storage.url"].value == MASK
    assert MASK in shown["admin.tokens"].value
    text = str(shown)
    assert "hidden" not in text
    assert "0123456789-0123456789" not in text


def test_a_section_that_is_not_there_has_no_rows(shown: dict[str, Shown]) -> None:
    assert "meta.llm.base_url" in {key.path for key in keys_of(Settings)}
    assert "meta.llm.base_url" not in shown
    assert not any("[]" in key for key in shown)


def test_the_page_has_one_row_per_key_with_a_meaning() -> None:
    page = documentation()
    rows = re.findall(r"^\| `([^`]+)` \|(.*)\|$", page, re.MULTILINE)
    assert [key for key, _ in rows] == [key.path for key in keys_of(Settings)]
    assert all(re.split(r"(?<!\\)\|", rest)[0].strip() for _, rest in rows), "no type"
    assert "## gateway" in page
    assert page.endswith("\n")
    assert not page.endswith("\n\n")
