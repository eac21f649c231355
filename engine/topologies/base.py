"""What every topology shares: front rank, aging, hints, lazy removal."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import ClassVar, NamedTuple, Protocol

from hmas.engine.directive import Hints
from hmas.engine.topologies.queued import Expiry, LazyDeque, LazyHeap, QueuedRequest


class HintSpec(NamedTuple):
    """One tunable of a topology: default and inclusive bounds."""

    default: float
    low: float
    high: float
    meaning: str


class InvalidHintError(ValueError):
    """A hint that the topology does not have, or a value out of its bounds."""


class Container(Protocol):
    """Something that may still hold requests that left the topology."""

    def compact(self) -> None: ...


AGING = HintSpec(
    20, 2, 1000, "one in this many admissions goes to the oldest waiting request, whatever its key"
)

ON_TIME_FIRST = HintSpec(1, 0, 1, "1: requests already past their TTFT target go last")

_tickets = itertools.count(1)


class Topology(ABC):
    """A queue structure and its ordering rule (A_t in Ω, paper 3.1.1).

    Requests that the engine gives back (preempted, or skipped because they cannot run yet)
    hold a front rank: they are served before all others, in the order they were given back.

    Starvation bound of every topology: of each ``aging_every`` admissions one serves the
    oldest waiting request, so a request with k older ones ahead of it is admitted after at
    most ``aging_every * (k + 1)`` admissions, whatever arrives meanwhile.
    """

    name: ClassVar[str]
    fights: ClassVar[str]
    HINTS: ClassVar[Mapping[str, HintSpec]] = {"aging_every": AGING}

    def __init__(self, hints: Hints | None = None) -> None:
        self.hints = self.checked_hints(hints or {})
        self._aging_every = int(self.hints.get("aging_every", 0))
        self._front = LazyDeque()
        self._arrivals = LazyDeque()
        self._containers: list[Container] = [self._front, self._arrivals]
        self._size = 0
        self._stale = 0
        self._admitted = 0
        self._selected: QueuedRequest | None = None
        self._selected_at_s = 0.0

    @classmethod
    def checked_hints(cls, hints: Hints) -> Hints:
        """Defaults filled in. Raises :class:`InvalidHintError` with the hint's name."""
        for name, value in hints.items():
            spec = cls.HINTS.get(name)
            if spec is None:
                known = ", ".join(sorted(cls.HINTS)) or "none"
                raise InvalidHintError(f"{cls.name} has no hint {name!r} (known: {known})")
            if not spec.low <= value <= spec.high:
                raise InvalidHintError(
                    f"hint {name} of {cls.name} must lie in [{spec.low:g}, {spec.high:g}],"
                    f" got {value:g}"
                )
        return {name: hints.get(name, spec.default) for name, spec in cls.HINTS.items()}

    def add(self, request: QueuedRequest, now_s: float) -> None:
        """Put a request that is in no topology into the order."""
        self._admit_to_pool(request)
        self._arrivals.append(request)
        self._insert(request, now_s)

    def load(self, requests: Sequence[QueuedRequest], now_s: float) -> None:
        """Add many, oldest first, at the cost of a rebuild rather than of n insertions."""
        for request in requests:
            self._admit_to_pool(request)
        self._arrivals.load(requests)
        self._insert_many(requests, now_s)

    def requeue(self, request: QueuedRequest) -> None:
        """Give a request its front rank, ahead of those given back before."""
        self._admit_to_pool(request)
        self._front.appendleft(request)

    def load_front(self, requests: Iterable[QueuedRequest]) -> None:
        """Requests that held a front rank elsewhere, first in line first."""
        for request in requests:
            self._admit_to_pool(request)
            self._front.append(request)

    def peek(self, now_s: float) -> QueuedRequest | None:
        """The next request to admit. O(log n)."""
        if self._selected is None or self._selected_at_s != now_s:
            self._selected = self._front.first() or self._aged() or self._next(now_s)
            self._selected_at_s = now_s
        return self._selected

    def pop(self, now_s: float) -> QueuedRequest:
        """Take what :meth:`peek` shows at this moment. Raises IndexError when nothing waits."""
        request = self.peek(now_s)
        if request is None:
            raise IndexError(f"pop from an empty {self.name} topology")
        self.take(request)
        return request

    def challenger(self, now_s: float) -> QueuedRequest | None:
        """Who may take the slot of a running request; None where the topology never preempts."""
        return None

    def take(self, request: QueuedRequest) -> None:
        """Admit this very request, at the head or not.

        One that was given back has had its turn: it takes none from the others again.
        """
        if request is not self._front.first():
            self._admitted += 1
            self._served(request)
        self.remove(request)

    def remove(self, request: QueuedRequest) -> bool:
        """Forget a request; False when it is not here. O(1), amortised."""
        if not request.ticket:
            return False
        request.ticket = 0
        self._selected = None
        self._size -= 1
        self._stale += 1
        if self._stale > 64 and self._stale > self._size:
            self._compact()
        return True

    def ordered(self, now_s: float) -> Iterator[QueuedRequest]:
        """All waiting requests in the present order (aging aside), lazily."""
        return chain(self._front, self._walk(now_s))

    def front(self) -> list[QueuedRequest]:
        """Requests with front rank, first in line first."""
        return list(self._front)

    def by_arrival(self) -> list[QueuedRequest]:
        """All others, in the order they were added."""
        return list(self._arrivals)

    def __len__(self) -> int:
        return self._size

    def _admit_to_pool(self, request: QueuedRequest) -> None:
        if request.ticket:
            raise ValueError(f"{request!r} already waits in a topology")
        request.ticket = next(_tickets)
        request.late = False
        self._selected = None
        self._size += 1

    def _aged(self) -> QueuedRequest | None:
        due = self._aging_every and self._admitted % self._aging_every == self._aging_every - 1
        return self._arrivals.first() if due else None

    def _compact(self) -> None:
        for container in self._containers:
            container.compact()
        self._stale = 0

    def _insert_many(self, requests: Sequence[QueuedRequest], now_s: float) -> None:
        for request in requests:
            self._insert(request, now_s)

    def ended(self, request: QueuedRequest, output_tokens: int) -> None:  # noqa: B027
        """Hook: a request left for good after so many output tokens."""

    def _served(self, request: QueuedRequest) -> None:  # noqa: B027
        """Hook: ``request`` is about to be admitted."""

    @abstractmethod
    def _insert(self, request: QueuedRequest, now_s: float) -> None: ...

    @abstractmethod
    def _next(self, now_s: float) -> QueuedRequest | None: ...

    @abstractmethod
    def _walk(self, now_s: float) -> Iterator[QueuedRequest]:
        """All requests without front rank, in order."""


class OnTimeTopology(Topology):
    """Serves what can still meet its TTFT target, in an order of its own, before what cannot.

    A request changes class once, when ``late_at_s`` has passed; late ones are served oldest
    first, so they wait but are never lost. With the hint ``on_time_first`` 0 nobody is late.
    """

    def __init__(self, hints: Hints | None = None) -> None:
        super().__init__(hints)
        self._expiry = Expiry(active=bool(self.hints.get("on_time_first", 1)))
        self._containers.append(self._expiry)

    def _insert(self, request: QueuedRequest, now_s: float) -> None:
        self._expiry.watch(request)
        self._expire(now_s)
        if not request.late:
            self._push(request)

    def _insert_many(self, requests: Sequence[QueuedRequest], now_s: float) -> None:
        self._expiry.watch_all(requests)
        self._expire(now_s)
        self._push_all([request for request in requests if not request.late])

    def _next(self, now_s: float) -> QueuedRequest | None:
        self._expire(now_s)
        # Where nobody is on time, the oldest of all is the oldest of the late.
        return self._best(now_s) or self._arrivals.first()

    def _walk(self, now_s: float) -> Iterator[QueuedRequest]:
        self._expire(now_s)
        return chain(self._by_rank(now_s), self._late())

    def _late(self) -> Iterator[QueuedRequest]:
        for request in self._arrivals:
            if request.late:
                yield request

    def _expire(self, now_s: float) -> None:
        self._expiry.expire(now_s)

    def _push_all(self, requests: Sequence[QueuedRequest]) -> None:
        for request in requests:
            self._push(request)

    @abstractmethod
    def _push(self, request: QueuedRequest) -> None: ...

    @abstractmethod
    def _best(self, now_s: float) -> QueuedRequest | None:
        """The first of those on time."""

    @abstractmethod
    def _by_rank(self, now_s: float) -> Iterator[QueuedRequest]:
        """Those on time, in order."""


class KeyedTopology(OnTimeTopology):
    """Smallest key first; the key of a request never changes while it waits. O(log n)."""

    def __init__(self, hints: Hints | None = None) -> None:
        super().__init__(hints)
        self._heap = LazyHeap(self.key)
        self._containers.append(self._heap)

    @abstractmethod
    def key(self, request: QueuedRequest) -> float:
        """Lower is served earlier."""

    def _push(self, request: QueuedRequest) -> None:
        self._heap.push(request)

    def _push_all(self, requests: Sequence[QueuedRequest]) -> None:
        self._heap.load(requests)

    def _best(self, now_s: float) -> QueuedRequest | None:
        return self._heap.first()

    def _by_rank(self, now_s: float) -> Iterator[QueuedRequest]:
        return iter(self._heap)
