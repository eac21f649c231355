"""Ω on the wire is Ω in the engine."""

from __future__ import annotations

from hmas.daemon.admin.pool import topology_pool
from hmas.engine.topologies import TOPOLOGIES, hint_bounds


def test_every_topology_is_shown_with_its_hints() -> None:
    pool = {topology.name: topology for topology in topology_pool()}
    assert list(pool) == list(TOPOLOGIES)
    for name, topology in pool.items():
        bounds = {hint.name: (hint.minimum, hint.maximum) for hint in topology.hints}
        assert bounds == hint_bounds(name)
        assert topology.fights
        assert all(hint.minimum <= hint.default <= hint.maximum for hint in topology.hints)
