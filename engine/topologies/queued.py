"""One waiting request, and containers that forget removed ones lazily."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from hmas.engine.features import RequestFeatures


class QueuedRequest:
    """A request in the pool.

    ``payload`` is the host's own object (a vLLM request, a simulated one, a gateway's future).
    ``late_at_s`` is the moment after which the TTFT target cannot be met any more.
    ``ticket`` orders by insertion and is 0 while the request is in no topology; ``late`` is set
    by the topology once ``late_at_s`` has passed. ``produced`` output tokens came out before the
    core itself preempted it, ``preempted`` times so far.
    """

    __slots__ = ("features", "late", "late_at_s", "payload", "preempted", "produced", "ticket")

    def __init__(
        self, features: RequestFeatures, payload: Any = None, late_at_s: float | None = None
    ) -> None:
        self.features = features
        self.payload = payload
        self.late_at_s = features.first_token_deadline_s if late_at_s is None else late_at_s
        self.ticket = 0
        self.late = False
        self.produced = 0
        self.preempted = 0

    def __repr__(self) -> str:
        return f"QueuedRequest({self.features.request_id!r}, ticket={self.ticket})"


Key = Callable[[QueuedRequest], float]


class LazyDeque:
    """First in, first out; entries whose ticket changed are skipped."""

    __slots__ = ("_items",)

    def __init__(self) -> None:
        self._items: deque[tuple[int, QueuedRequest]] = deque()

    def append(self, request: QueuedRequest) -> None:
        self._items.append((request.ticket, request))

    def appendleft(self, request: QueuedRequest) -> None:
        self._items.appendleft((request.ticket, request))

    def load(self, requests: Iterable[QueuedRequest]) -> None:
        self._items.extend([(request.ticket, request) for request in requests])

    def first(self) -> QueuedRequest | None:
        items = self._items
        while items:
            ticket, request = items[0]
            if request.ticket == ticket:
                return request
            items.popleft()
        return None

    def compact(self) -> None:
        self._items = deque(item for item in self._items if item[1].ticket == item[0])

    def __iter__(self) -> Iterator[QueuedRequest]:
        return (request for ticket, request in list(self._items) if request.ticket == ticket)


class LazyHeap:
    """Smallest key first, ties by insertion; removed and late requests are skipped. O(log n)."""

    __slots__ = ("_items", "_key")

    def __init__(self, key: Key) -> None:
        self._key = key
        self._items: list[tuple[float, int, QueuedRequest]] = []

    def push(self, request: QueuedRequest) -> None:
        heapq.heappush(self._items, (self._key(request), request.ticket, request))

    def load(self, requests: Iterable[QueuedRequest]) -> None:
        """Add many at once, O(n)."""
        key = self._key
        self._items.extend([(key(request), request.ticket, request) for request in requests])
        heapq.heapify(self._items)

    def first(self) -> QueuedRequest | None:
        items = self._items
        while items:
            _, ticket, request = items[0]
            if request.ticket == ticket and not request.late:
                return request
            heapq.heappop(items)
        return None

    def clear(self) -> None:
        self._items = []

    def compact(self) -> None:
        self._items = [
            item for item in self._items if item[2].ticket == item[1] and not item[2].late
        ]
        heapq.heapify(self._items)

    def __iter__(self) -> Iterator[QueuedRequest]:
        """Best first, without copying or sorting the heap: O(k log k) for the first k."""
        items = self._items
        frontier = [(items[0][:2], 0)] if items else []
        while frontier:
            (_, ticket), index = heapq.heappop(frontier)
            request = items[index][2]
            for child in (2 * index + 1, 2 * index + 2):
                if child < len(items):
                    heapq.heappush(frontier, (items[child][:2], child))
            if request.ticket == ticket and not request.late:
                yield request


class Expiry:
    """Tells which requests can no longer meet their TTFT target. O(log n) per request, once.

    What is marked ``late`` drops out of every :class:`LazyHeap`. Not ``active``: nobody is late.
    """

    __slots__ = ("_active", "_heap")

    def __init__(self, *, active: bool = True) -> None:
        self._active = active
        self._heap = LazyHeap(lambda request: request.late_at_s)

    def watch(self, request: QueuedRequest) -> None:
        if self._active:
            self._heap.push(request)

    def watch_all(self, requests: Iterable[QueuedRequest]) -> None:
        if self._active:
            self._heap.load(requests)

    def expire(self, now_s: float) -> list[QueuedRequest]:
        """Mark and return those whose moment has passed since the last call."""
        marked: list[QueuedRequest] = []
        while (request := self._heap.first()) is not None and request.late_at_s < now_s:
            request.late = True
            marked.append(request)
        return marked

    def compact(self) -> None:
        self._heap.compact()
