"""What becomes of the answers of a daemon that is not what it should be."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from hmas.daemon.admin.settings import AdminSettings, AdminToken
from hmas.daemon.cli.client import AdminClient, AdminError, admin_token, admin_url, is_local
from hmas.daemon.cli.exits import Exit
from hmas.daemon.settings import Settings
from hmas.daemon.wire import FleetStatus, HealthOut, Role


def settings(folder: Path, **admin: object) -> Settings:
    return Settings(runtime_dir=folder, state_dir=folder, admin=AdminSettings.model_validate(admin))


def asking(response: httpx.Response) -> AdminError:
    client = AdminClient("http://daemon", None, httpx.MockTransport(lambda _: response))
    with pytest.raises(AdminError) as raised:
        client.get("/status", FleetStatus)
    client.close()
    return raised.value


@pytest.mark.parametrize(
    ("status", "code"),
    [(404, Exit.USAGE), (422, Exit.USAGE), (409, Exit.FAILED), (503, Exit.FAILED)],
)
def test_a_refusal_comes_with_its_fix(status: int, code: Exit) -> None:
    problem = {"field": "topology", "message": "no such topology", "fix": "use edf"}
    detail = {"code": "invalid", "message": "topology: no such topology", "problems": [problem]}
    error = asking(httpx.Response(status, json={"error": detail}))
    assert (str(error), error.code, error.fix) == ("topology: no such topology", code, "use edf")


@pytest.mark.parametrize("body", [b"", b"<html>Bad gateway</html>", b'{"error": "no"}'])
def test_a_proxys_error_page_is_told_by_its_status(body: bytes) -> None:
    error = asking(httpx.Response(502, content=body))
    assert (str(error), error.code) == ("the daemon answered 502", Exit.FAILED)


@pytest.mark.parametrize("body", [b"", b"[]", b'{"now_s": "soon"}', b"\xff"])
def test_an_answer_that_is_no_status_is_named(body: bytes) -> None:
    error = asking(httpx.Response(200, content=body))
    assert "did not answer like a daemon of this version" in str(error)


def test_a_timeout_is_unreachable() -> None:
    def hang(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("", request=request)

    client = AdminClient("http://daemon", None, httpx.MockTransport(hang))
    with pytest.raises(AdminError, match="cannot reach the daemon at http://daemon: Rea") as raised:
        client.get("/health", HealthOut)
    assert raised.value.code is Exit.UNREACHABLE
    client.close()


def test_token_and_query_travel_and_what_is_none_does_not() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json=[])

    client = AdminClient("http://daemon/", "secret", httpx.MockTransport(answer))
    assert client.get("/decisions", list[str], engine_id=None, limit=3) == []
    client.close()
    assert str(seen[0].url) == "http://daemon/hmas/v1/decisions?limit=3"
    assert seen[0].headers["authorization"] == "Bearer secret"


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8002"),
        ("0.0.0.0", "http://127.0.0.1:8002"),
        ("::", "http://[::1]:8002"),
        ("::1", "http://[::1]:8002"),
    ],
)
def test_the_address_is_one_that_can_be_reached(host: str, url: str, tmp_path: Path) -> None:
    token = {"name": "ada", "token": "0123456789-0123456789"}
    assert admin_url(settings(tmp_path, host=host, tokens=[token])) == url


def test_the_first_operators_token_is_used(tmp_path: Path) -> None:
    tokens = (
        AdminToken(name="vic", role=Role.VIEWER, token=SecretStr("viewer-0123456789abc")),
        AdminToken(name="gone", token_file=tmp_path / "none"),
        AdminToken(name="ada", token=SecretStr("operator-0123456789abc")),
    )
    assert admin_token(settings(tmp_path, tokens=tokens)) == "operator-0123456789abc"


def test_without_tokens_the_file_of_this_machine_is_read(tmp_path: Path) -> None:
    assert admin_token(settings(tmp_path)) is None
    (tmp_path / "admin.token").write_text("from-the-file\n")
    assert admin_token(settings(tmp_path)) == "from-the-file"


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://127.0.0.1:8002", True),
        ("http://127.9.9.9", True),
        ("http://[::1]:8002", True),
        ("http://localhost:8002", True),
        ("http://127.0.0.1.example.org", False),
        ("http://10.0.0.1:8002", False),
        ("https://daemon.example.org", False),
        ("nonsense", False),
    ],
)
def test_this_machines_token_stays_on_this_machine(url: str, local: bool) -> None:
    assert is_local(url) is local
