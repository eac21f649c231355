"""A session remembers what it saw, and says how old that is."""

from __future__ import annotations

import httpx
import pytest

from hmas.console.client import AdminClient, TokenError
from hmas.console.palette import Tone
from hmas.console.session import Session
from hmas.daemon.admin.memory_port import MemoryPort
from hmas.daemon.wire import Role, WhoAmI
from hmas.engine.clock import FakeClock
from tests.console.conftest import OPERATOR


class Switch(httpx.HTTPTransport):
    """A network that can be cut."""

    cut = False

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if self.cut:
            raise httpx.ConnectError("the network is down")
        return super().handle_request(request)


def test_an_outage_leaves_the_last_picture_and_its_age(admin_url: str) -> None:
    now, network = [0.0], Switch()
    client = AdminClient(admin_url, OPERATOR, transport=network)
    session = Session(client, client.whoami(), monotonic=lambda: now[0])
    first = session.refresh()
    assert session.freshness().tone is Tone.GOOD
    drawn = session.window("engine0", 300)
    network.cut, now[0] = True, 90.0
    assert session.refresh() == first
    assert session.freshness().text == "data 1 min old"
    assert "cannot be reached" in session.problem
    assert session.window("engine0", 300) == drawn
    network.cut = False
    session.refresh()
    assert session.problem == ""
    client.close()


def test_before_the_first_answer_there_is_nothing() -> None:
    network = Switch()
    network.cut = True
    client = AdminClient("http://admin", "", transport=network)
    session = Session(client, WhoAmI(name="ada", role=Role.OPERATOR))
    assert session.refresh() is None
    assert session.freshness().text == "no data yet"
    client.close()


def test_a_token_that_was_taken_away_is_not_an_outage(admin_url: str) -> None:
    client = AdminClient(admin_url, "wrong")
    session = Session(client, WhoAmI(name="ada", role=Role.VIEWER))
    assert not session.may_act
    with pytest.raises(TokenError):
        session.refresh()
    client.close()


def test_the_window_moves_with_the_daemons_clock_unless_held(
    session: Session, port: MemoryPort, clock: FakeClock
) -> None:
    session.refresh()
    first = session.window("engine0", 300)
    clock.advance(60)
    session.refresh()
    held = session.window("engine0", 300, follow=False)
    assert (held.start_s, held.end_s) == (first.start_s, first.end_s)
    moved = session.window("engine0", 300)
    assert moved.end_s == pytest.approx(first.end_s + 60)
    assert moved.points[-1].at_s > first.points[-1].at_s


def test_topologies_are_read_once(session: Session) -> None:
    assert session.topologies() is session.topologies()
