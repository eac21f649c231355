from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hmas.engine.topologies.queued import LazyDeque, LazyHeap, QueuedRequest
from tests.engine.support import queued


def ticketed(values: list[int]) -> list[QueuedRequest]:
    requests = [queued(f"r{i}", predicted_output_tokens=v) for i, v in enumerate(values)]
    for ticket, request in enumerate(requests, start=1):
        request.ticket = ticket
    return requests


def length(request: QueuedRequest) -> float:
    return request.features.predicted_output_tokens


@given(st.lists(st.integers(0, 50)), st.sets(st.integers(0, 60)), st.booleans())
def test_the_heap_walks_what_is_left_in_order(
    values: list[int], removed: set[int], bulk: bool
) -> None:
    heap, requests = LazyHeap(length), ticketed(values)
    if bulk:
        heap.load(requests)
    else:
        for request in requests:
            heap.push(request)
    for index in removed & set(range(len(requests))):
        requests[index].ticket = 0
    left = [request for request in requests if request.ticket]
    expected = sorted(left, key=lambda request: (length(request), request.ticket))
    assert list(heap) == expected
    heap.compact()
    assert list(heap) == expected
    assert heap.first() is (expected[0] if expected else None)


def test_a_request_that_came_back_counts_once() -> None:
    line, request = LazyDeque(), queued()
    request.ticket = 1
    line.append(request)
    request.ticket = 2
    line.append(request)
    assert list(line) == [request]
    assert line.first() is request
