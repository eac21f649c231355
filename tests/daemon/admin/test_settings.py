"""Settings that would open the API to the network are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from hmas.daemon.admin.settings import AdminSettings, AdminToken, is_loopback

TOKEN = AdminToken(name="ada", token=SecretStr("a-very-long-secret-token"))


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.1.2.3"])
def test_loopback_needs_no_token(host: str) -> None:
    assert is_loopback(host)
    assert AdminSettings(host=host).tokens == ()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.4", "admin.example"])
def test_any_other_address_does(host: str) -> None:
    with pytest.raises(ValidationError, match="add tokens, or use 127"):
        AdminSettings(host=host)
    assert AdminSettings(host=host, tokens=(TOKEN,)).host == host


def test_names_are_unique_since_the_audit_shows_them() -> None:
    with pytest.raises(ValidationError, match="every name may be used once"):
        AdminSettings(tokens=(TOKEN, TOKEN))


def test_a_token_has_one_source_and_is_long() -> None:
    with pytest.raises(ValidationError, match="exactly one of token and token_file"):
        AdminToken(name="ada")
    with pytest.raises(ValidationError, match="exactly one of token and token_file"):
        AdminToken(name="ada", token=SecretStr("x" * 20), token_file=Path("token"))
    with pytest.raises(ValidationError, match="shorter than 16"):
        AdminToken(name="ada", token=SecretStr("x"))
