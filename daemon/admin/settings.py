"""Settings of the admin API."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

from hmas.daemon.wire import Role

MIN_TOKEN_LENGTH = 16


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach ``host``."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


class AdminToken(BaseModel):
    """One bearer token: its holder's name, what it may do, and where the secret is."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, Field(min_length=1, max_length=64)]
    role: Role = Role.OPERATOR
    token: SecretStr | None = None
    token_file: Path | None = None

    @model_validator(mode="after")
    def one_source(self) -> Self:
        if (self.token is None) == (self.token_file is None):
            raise ValueError("give exactly one of token and token_file")
        if self.token is not None and len(self.token.get_secret_value()) < MIN_TOKEN_LENGTH:
            raise ValueError(
                f"token is shorter than {MIN_TOKEN_LENGTH} characters: use a longer one"
            )
        return self


class AdminSettings(BaseModel):
    """``admin:`` of the configuration file.

    Without tokens the API is open, and therefore only ever on loopback and to requests that
    address loopback (a web page cannot rebind a name to it).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    enabled: bool = True
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8002
    tokens: tuple[AdminToken, ...] = ()
    public_metrics: bool = Field(default=True, description="serve /metrics without a token")

    @model_validator(mode="after")
    def closed_to_the_network(self) -> Self:
        if not self.tokens and not is_loopback(self.host):
            raise ValueError(
                f"host {self.host} can be reached from other machines: add tokens, or use 127.0.0.1"
            )
        names = [token.name for token in self.tokens]
        if len(set(names)) != len(names):
            raise ValueError("tokens: every name may be used once, it goes into the audit")
        return self
