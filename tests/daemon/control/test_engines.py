"""What is known of engines, and which sockets belong to live ones."""

from __future__ import annotations

from pathlib import Path

from hmas.daemon.control.engines import Fleet, is_held, live_sockets
from hmas.engine.clock import FakeClock
from tests.daemon.control.support import FakeLink, managed, served_engine


def test_only_live_engines_are_found(tmp_path: Path) -> None:
    (tmp_path / "dead.control").touch()
    (tmp_path / "dead.control.lock").touch()
    (tmp_path / "bad name.control").touch()
    with served_engine(tmp_path, FakeClock(), "engine0"):
        [found] = live_sockets(tmp_path)
        assert found.engine_id == "engine0"
        assert is_held(tmp_path / "engine0.control.lock")
    assert live_sockets(tmp_path) == []
    assert live_sockets(tmp_path / "nowhere") == []


def test_looking_at_a_lock_does_not_take_it(tmp_path: Path) -> None:
    with served_engine(tmp_path, FakeClock(), "engine0"):
        pass
    assert not is_held(tmp_path / "engine0.control.lock")
    with served_engine(tmp_path, FakeClock(), "engine0"):
        assert is_held(tmp_path / "engine0.control.lock")


def test_losing_an_engine_is_news_once() -> None:
    engine = managed(FakeLink(FakeClock()))
    engine.seen(5.0)
    assert (engine.reachable, engine.last_seen_s) == (True, 5.0)
    assert engine.lost("no answer")
    assert not engine.lost("no answer")
    assert engine.lost("connection reset")


def test_a_fleet_can_change_while_it_is_walked() -> None:
    fleet = Fleet()
    for name in ("a", "b"):
        fleet.add(managed(FakeLink(FakeClock(), name)))
    for engine in fleet:
        fleet.remove(engine.engine_id)
    assert len(fleet) == 0
    assert "a" not in fleet
    assert list(fleet.controlled()) == []
