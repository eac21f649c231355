"""Ω: the pool of queue topologies, one small class each, and the registry.

To add one: a class with ``name``, ``fights``, its hints and its key, and a line below.
"""

from __future__ import annotations

from typing import Final

from hmas.engine.directive import Hints
from hmas.engine.topologies.base import HintSpec, InvalidHintError, Topology
from hmas.engine.topologies.baseline import Fcfs
from hmas.engine.topologies.deadline import Edf, Llf
from hmas.engine.topologies.duration import Hrrn, Sjf, Srtf
from hmas.engine.topologies.fairness import Cfs, Lottery, Mlfq, Priority, RoundRobin, Stride, Wfq
from hmas.engine.topologies.isolation import TwoLane
from hmas.engine.topologies.on_time import OnTime
from hmas.engine.topologies.queued import QueuedRequest

TOPOLOGIES: Final[dict[str, type[Topology]]] = {
    topology.name: topology
    for topology in (
        Fcfs,
        OnTime,
        Edf,
        Llf,
        Sjf,
        Srtf,
        Hrrn,
        TwoLane,
        Wfq,
        Stride,
        Lottery,
        Cfs,
        RoundRobin,
        Priority,
        Mlfq,
    )
}

BASELINE: Final = Fcfs.name


class UnknownTopologyError(ValueError):
    """A name that is not in Ω; the message lists those that are."""


def topology_names() -> tuple[str, ...]:
    return tuple(TOPOLOGIES)


def topology_class(name: str) -> type[Topology]:
    """Raises :class:`UnknownTopologyError`."""
    try:
        return TOPOLOGIES[name]
    except KeyError:
        known = ", ".join(TOPOLOGIES)
        raise UnknownTopologyError(f"unknown topology {name!r} (known: {known})") from None


def hint_bounds(name: str) -> dict[str, tuple[float, float]]:
    """Inclusive bounds of each hint. Raises :class:`UnknownTopologyError`."""
    return {hint: (spec.low, spec.high) for hint, spec in topology_class(name).HINTS.items()}


def make_topology(name: str, hints: Hints | None = None) -> Topology:
    """Raises :class:`UnknownTopologyError` or :class:`InvalidHintError`."""
    return topology_class(name)(hints)


__all__ = [
    "BASELINE",
    "TOPOLOGIES",
    "HintSpec",
    "InvalidHintError",
    "QueuedRequest",
    "Topology",
    "UnknownTopologyError",
    "hint_bounds",
    "make_topology",
    "topology_class",
    "topology_names",
]
