"""Bearer tokens: who is calling, and what they may do."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from hmas.daemon.admin.settings import MIN_TOKEN_LENGTH, AdminToken
from hmas.daemon.wire import Role

ANONYMOUS = "anonymous"


class TokenFileError(ValueError):
    """A token file that cannot be read or is too short; names the file and the fix."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The caller's name, as the audit shows it, and role."""

    name: str
    role: Role


@dataclass(frozen=True, slots=True)
class _Entry:
    identity: Identity
    digest: bytes = field(repr=False)


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()


def _secret_of(token: AdminToken) -> str:
    if token.token is not None:
        return token.token.get_secret_value()
    path = token.token_file
    assert path is not None
    try:
        secret = path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise TokenFileError(f"token {token.name}: cannot read {path}: {error}") from error
    if len(secret) < MIN_TOKEN_LENGTH:
        raise TokenFileError(
            f"token {token.name}: {path} holds {len(secret)} characters, "
            f"at least {MIN_TOKEN_LENGTH} are needed"
        )
    return secret


class TokenBook:
    """Every known token as a digest; comparing takes the same time whatever matches."""

    def __init__(self, tokens: Iterable[AdminToken]) -> None:
        """Raises :class:`TokenFileError`."""
        self._entries = tuple(
            _Entry(Identity(token.name, token.role), _digest(_secret_of(token))) for token in tokens
        )

    @property
    def is_open(self) -> bool:
        """No tokens are set: everybody who reaches the API is an operator."""
        return not self._entries

    def identify(self, secret: str) -> Identity | None:
        """The holder of ``secret``; None when nobody is."""
        offered = _digest(secret)
        found: Identity | None = None
        for entry in self._entries:
            if hmac.compare_digest(entry.digest, offered):
                found = entry.identity
        return found


def ensure_token_file(path: Path) -> Path:
    """Make sure ``path`` holds a secret that only its owner can read; keeps one that is there.

    For one machine: the daemon writes it, the command line and the console read it.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        return path
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_urlsafe(32) + "\n")
    return path
