"""Tokens: who holds one, and where they come from."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from hmas.daemon.admin.auth import Identity, TokenBook, TokenFileError, ensure_token_file
from hmas.daemon.admin.settings import AdminToken
from hmas.daemon.wire import Role

SECRET = "a-very-long-secret-token"


def test_a_holder_is_recognised() -> None:
    book = TokenBook([AdminToken(name="ada", token=SecretStr(SECRET))])
    assert book.identify(SECRET) == Identity("ada", Role.OPERATOR)
    assert not book.is_open


@given(st.text())
def test_nothing_else_opens(offered: str) -> None:
    book = TokenBook([AdminToken(name="ada", token=SecretStr(SECRET))])
    assert (book.identify(offered) is not None) == (offered == SECRET)


def test_secrets_are_not_shown() -> None:
    book = TokenBook([AdminToken(name="ada", token=SecretStr(SECRET))])
    assert SECRET not in repr(vars(book))


def test_a_token_file_is_read_without_its_line_end(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(f"{SECRET}\n")
    assert TokenBook([AdminToken(name="ada", token_file=path)]).identify(SECRET) is not None


@pytest.mark.parametrize("content", [None, "short\n"])
def test_a_bad_token_file_is_named(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "token"
    if content is not None:
        path.write_text(content)
    with pytest.raises(TokenFileError, match=f"token ada: .*{path}"):
        TokenBook([AdminToken(name="ada", token_file=path)])


def test_a_local_token_is_made_once_and_only_for_its_owner(tmp_path: Path) -> None:
    path = ensure_token_file(tmp_path / "state" / "admin-token")
    secret = path.read_text()
    assert len(secret.strip()) > 30
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert ensure_token_file(path).read_text() == secret
