"""vLLM's waiting queue with an execution core behind it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from hmas.engine.core import ExecutionCore
from hmas.engine.topologies import QueuedRequest
from hmas.engine.vllm_requests import stock_rank

logger = logging.getLogger(__name__)

EntryOf = Callable[[Any], QueuedRequest]
MakeQueue = Callable[[], Any]


def stock_queue(make_queue: MakeQueue, entries: Iterable[QueuedRequest]) -> Any:
    """vLLM's own queue with ``entries`` in the order that stock vLLM would serve them."""
    queue = make_queue()
    for entry in sorted(entries, key=stock_rank):
        queue.add_request(entry.payload.request)
    return queue


class TopologyQueue:
    """The ``RequestQueue`` interface that vLLM's scheduler pops from.

    Truth means "has a request that may start now": the scheduler asks before each admission, so
    the fence is evaluated there, with its running sum. ``len`` counts all that wait, since vLLM
    idles when it is 0. What the scheduler peeked is what it pops.

    vLLM cannot survive an exception in the middle of a step. Whatever goes wrong in the core is
    kept in ``fault``, and from then on this is stock vLLM's queue, with the same requests.
    """

    def __init__(self, core: ExecutionCore, entry_of: EntryOf, make_queue: MakeQueue) -> None:
        self.now_s = 0.0
        self.admits = True
        self.fault: Exception | None = None
        self.yielding: Any = None
        """The request that is being preempted by the core's own choice."""
        self._core = core
        self._entry_of = entry_of
        self._make_queue = make_queue
        self._entries: dict[Any, QueuedRequest] = {}
        self._head: QueuedRequest | None = None
        self._head_known = False
        self._stock: Any = None

    def begin_step(self, now_s: float, *, admits: bool) -> None:
        """``admits`` is False when no running slot is free: then nothing is looked up."""
        self.now_s = now_s
        self.admits = admits
        self._head_known = False

    def end_step(self) -> None:
        self.admits = True

    def load(self, requests: Iterable[Any], is_front: Callable[[Any], bool]) -> None:
        """Take over the requests of another queue, in its order."""
        front: list[QueuedRequest] = []
        rest: list[QueuedRequest] = []
        for request in requests:
            entry = self._entries[request] = self._entry_of(request)
            (front if is_front(request) else rest).append(entry)
        self._core.load(front, rest, self.now_s)
        self._head_known = False

    def entries(self) -> list[QueuedRequest]:
        """All that wait, in no particular order."""
        return list(self._entries.values())

    # RequestQueue ---------------------------------------------------------------------------

    def add_request(self, request: Any) -> None:
        entry = self._entries[request] = self._entry_of(request)
        if self._stock is not None:
            self._stock.add_request(request)
        else:
            self._guarded(self._add, entry)

    def peek_request(self) -> Any:
        head = self._first() if self._stock is None else None
        if head is not None:
            return head.payload.request
        if self._stock is None:
            raise IndexError("peek from a queue where nothing may start")
        return self._stock.peek_request()

    def pop_request(self) -> Any:
        head = self._first() if self._stock is None else None
        if head is None:
            return self._pop_stock()
        request = head.payload.request
        del self._entries[request]
        self._guarded(self._core.start, head)
        return request

    def _pop_stock(self) -> Any:
        if self._stock is None:
            raise IndexError("pop from a queue where nothing may start")
        request = self._stock.pop_request()
        del self._entries[request]
        return request

    def prepend_request(self, request: Any) -> None:
        entry = self._entries[request] = self._entry_of(request)
        if self._stock is not None:
            self._stock.prepend_request(request)
        else:
            self._guarded(self._yield if request is self.yielding else self._core.requeue, entry)

    def prepend_requests(self, requests: Iterable[Any]) -> None:
        for request in requests:
            self.prepend_request(request)

    def remove_request(self, request: Any) -> None:
        self.remove_requests((request,))

    def remove_requests(self, requests: Iterable[Any]) -> None:
        """vLLM calls this with requests of other queues among them: they are ignored."""
        here = [request for request in requests if request in self._entries]
        entries = [self._entries.pop(request) for request in here]
        if self._stock is not None:
            self._stock.remove_requests(here)
            return
        for entry in entries:
            self._guarded(self._core.remove, entry)

    def __bool__(self) -> bool:
        if not self.admits or not self._entries:
            return False
        if self._stock is None and self._first() is not None:
            return True
        return bool(self._stock)

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Any]:
        if self._stock is not None:
            return iter(self._stock)
        return (entry.payload.request for entry in self._core.waiting(self.now_s))

    # The edge to the core -------------------------------------------------------------------

    def _first(self) -> QueuedRequest | None:
        if not self._head_known:
            try:
                self._head = self._core.head(self.now_s)
            except Exception as error:  # noqa: BLE001 - the host logs and reports it
                self._fail(error)
                return None
            self._head_known = True
        return self._head

    def _add(self, entry: QueuedRequest) -> None:
        self._core.remove(entry)
        self._core.add(entry, self.now_s)

    def _yield(self, entry: QueuedRequest) -> None:
        self._core.yielded(entry, self.now_s)

    def _guarded(self, operation: Callable[[QueuedRequest], object], entry: QueuedRequest) -> None:
        self._head_known = False
        if self._stock is not None:
            return
        try:
            operation(entry)
        except Exception as error:  # noqa: BLE001 - the host logs and reports it
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        self.fault = error
        self._head = None
        self._stock = stock_queue(self._make_queue, self._entries.values())
