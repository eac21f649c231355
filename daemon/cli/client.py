"""The command line's way to the daemon: HTTP to the admin API."""

from __future__ import annotations

import ipaddress
from typing import TypeVar
from urllib.parse import urlsplit

import httpx
from pydantic import BaseModel, TypeAdapter, ValidationError

from hmas.daemon.cli.exits import Exit
from hmas.daemon.settings import Settings
from hmas.daemon.wire import ErrorOut

T = TypeVar("T")
PREFIX = "/hmas/v1"
TIMEOUT_S = 10.0


class AdminError(Exception):
    """The daemon cannot be reached, or says no; ``code`` is how the command ends."""

    def __init__(self, message: str, code: Exit, fix: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.fix = fix


def admin_url(settings: Settings) -> str:
    """Where the daemon of these settings listens."""
    return url_of(settings.admin.host, settings.admin.port)


def url_of(host: str, port: int) -> str:
    """Where a server that was told to bind ``host`` is reached from this machine."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_local(url: str) -> bool:
    """Whether a URL leads to this machine: only there this machine's own token may go."""
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def admin_token(settings: Settings) -> str | None:
    """The first operator's token of these settings, else the token file of this machine."""
    for token in settings.admin_settings().tokens:
        if token.role.value != "operator":
            continue
        if token.token is not None:
            return token.token.get_secret_value()
        if token.token_file is not None:
            try:
                return token.token_file.read_text().strip()
            except OSError:
                continue
    return None


class AdminClient:
    """Typed questions to one daemon."""

    def __init__(
        self, url: str, token: str | None, transport: httpx.BaseTransport | None = None
    ) -> None:
        self.url = url
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = httpx.Client(
            base_url=url.rstrip("/") + PREFIX,
            headers=headers,
            timeout=TIMEOUT_S,
            transport=transport,
            trust_env=False,
        )

    def get(self, path: str, kind: type[T], **query: str | float | None) -> T:
        """Raises :class:`AdminError`."""
        given = {name: value for name, value in query.items() if value is not None}
        return self._parsed(self._send("GET", path, params=given), kind)

    def post(self, path: str, body: BaseModel, kind: type[T]) -> T:
        """Raises :class:`AdminError`."""
        content = body.model_dump_json(exclude_none=True)
        headers = {"Content-Type": "application/json"}
        return self._parsed(self._send("POST", path, content=content, headers=headers), kind)

    def delete(self, path: str, kind: type[T]) -> T:
        """Raises :class:`AdminError`."""
        return self._parsed(self._send("DELETE", path), kind)

    def close(self) -> None:
        self._http.close()

    def _send(self, method: str, path: str, **how: object) -> httpx.Response:
        try:
            response = self._http.request(method, path, **how)  # type: ignore[arg-type]
        except httpx.HTTPError as error:
            raise AdminError(
                f"cannot reach the daemon at {self.url}: {str(error) or type(error).__name__}",
                Exit.UNREACHABLE,
                "start it with 'hmas daemon' or 'hmas up', or name it with --url",
            ) from error
        if response.is_error:
            raise _refusal(response)
        return response

    def _parsed(self, response: httpx.Response, kind: type[T]) -> T:
        try:
            return TypeAdapter(kind).validate_json(response.content)
        except ValidationError as error:
            raise AdminError(
                f"{self.url} did not answer like a daemon of this version", Exit.FAILED
            ) from error


def _refusal(response: httpx.Response) -> AdminError:
    try:
        detail = ErrorOut.model_validate_json(response.content).error
    except ValidationError:
        return AdminError(f"the daemon answered {response.status_code}", Exit.FAILED)
    fixes = [problem.fix for problem in detail.problems if problem.fix]
    code = Exit.USAGE if response.status_code in (404, 422) else Exit.FAILED
    if response.status_code == 401:
        fixes = ["give --token, set HMAS_ADMIN__TOKEN, or run as the user of the daemon"]
    return AdminError(detail.message, code, "; ".join(fixes))
