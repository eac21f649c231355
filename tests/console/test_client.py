"""The admin API over HTTP, as the console uses it."""

from __future__ import annotations

from contextlib import closing

import httpx
import pytest

from hmas.console.client import AdminClient, ApiError, RefusedError, TokenError, UnreachableError
from hmas.daemon.wire import BypassRequest, ControlsRequest, PinRequest, Role
from hmas.engine.topologies import topology_names


def answering(response: httpx.Response) -> AdminClient:
    transport = httpx.MockTransport(lambda _request: response)
    return AdminClient("http://admin", "token", transport=transport)


def failing(error: Exception) -> AdminClient:
    def fail(_request: httpx.Request) -> httpx.Response:
        raise error

    return AdminClient("http://admin", "token", transport=httpx.MockTransport(fail))


def test_everything_a_page_reads(client: AdminClient) -> None:
    assert client.whoami().role is Role.OPERATOR
    assert [engine.engine_id for engine in client.status().engines] == ["engine0", "engine1"]
    assert len(client.views("engine0", None, 5).short) == 5
    newest = client.views("engine0", None, 5).short[-1].at_s
    assert client.views("engine0", newest, 5).short == ()
    assert client.decisions(2)[0].proposals
    assert isinstance(client.guards(5), list)
    assert {topology.name for topology in client.topologies()} >= {"fcfs", "edf"}
    assert client.health().ready


def test_overrides_are_made_and_removed(client: AdminClient) -> None:
    requests = (
        PinRequest(topology="edf", reason="because"),
        ControlsRequest(n_run=8, reason="because"),
        BypassRequest(reason="because"),
    )
    for request in requests:
        override = client.apply(request).override
        assert client.cancel(override.kind, override.id).override.id == override.id
    assert client.status().overrides == ()


def test_a_refusal_names_the_fix(client: AdminClient) -> None:
    with pytest.raises(RefusedError) as caught:
        client.apply(PinRequest(topology="edff", reason="because"))
    assert caught.value.status == 422
    assert f"use one of: {', '.join(sorted(topology_names()))}" in caught.value.lines[0]


def test_names_are_one_segment_of_the_path(client: AdminClient) -> None:
    with pytest.raises(RefusedError) as caught:
        client.views("../status", None, 5)
    assert caught.value.status == 404


def test_a_wrong_token(admin_url: str) -> None:
    stranger = AdminClient(admin_url, "wrong")
    with closing(stranger), pytest.raises(TokenError, match="not known"):
        stranger.status()


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (httpx.ReadTimeout("slow"), "did not answer in time"),
        (httpx.ConnectError("refused"), "cannot be reached"),
    ],
)
def test_no_answer(error: Exception, words: str) -> None:
    with pytest.raises(UnreachableError, match=words):
        failing(error).status()


@pytest.mark.parametrize(
    ("response", "words"),
    [
        (httpx.Response(200, text="<html>hello</html>"), "other version"),
        (httpx.Response(502, text="bad gateway"), "answered 502"),
        (httpx.Response(404, json={"detail": "Not Found"}), "answered 404"),
    ],
)
def test_something_else_answers(response: httpx.Response, words: str) -> None:
    with pytest.raises(ApiError, match=words):
        answering(response).status()
