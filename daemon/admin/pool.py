"""Ω as the API shows it."""

from __future__ import annotations

from hmas.daemon.wire import HintOut, TopologyOut
from hmas.engine.topologies import TOPOLOGIES, Topology


def topology_pool() -> list[TopologyOut]:
    """Every registered topology: what it fights, and its hints with their bounds."""
    return [_shown(topology) for topology in TOPOLOGIES.values()]


def _shown(topology: type[Topology]) -> TopologyOut:
    return TopologyOut(
        name=topology.name,
        group=topology.__module__.rpartition(".")[2],
        fights=topology.fights,
        hints=tuple(
            HintOut(
                name=name,
                minimum=spec.low,
                maximum=spec.high,
                default=spec.default,
                description=spec.meaning,
            )
            for name, spec in topology.HINTS.items()
        ),
    )
