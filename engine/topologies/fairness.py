"""Topologies that share the engine between tenants, or between classes of requests."""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from heapq import merge
from itertools import chain, dropwhile, takewhile
from typing import ClassVar

from hmas.engine.directive import Hints
from hmas.engine.topologies.base import (
    AGING,
    ON_TIME_FIRST,
    HintSpec,
    KeyedTopology,
    OnTimeTopology,
)
from hmas.engine.topologies.cost import OUTPUT_TOKEN_PRICE, token_cost, weighted_cost
from hmas.engine.topologies.queued import LazyHeap, QueuedRequest
from hmas.engine.topologies.tenants import SHARING_HINTS, RankedTenants, SharingTopology, Tenant
from hmas.engine.topologies.tickets import TicketTree


class Wfq(RankedTenants):
    """Weighted fair queueing by tenant: smallest virtual finish time first. O(log n).

    A request of tenant i starts at max(V, F_i) and finishes cost/weight later; V is the start
    tag of the last admitted request (start-time fair queueing, Goyal et al. 1996), so an idle
    tenant earns no credit.

    Starvation bound, besides aging: while tenant i waits, any other tenant j is admitted at
    most its weighted share plus one request ahead of it.
    """

    name = "wfq"
    fights = "one tenant that crowds out others (persistent unfairness)"

    def _rank(self, account: float, request: QueuedRequest) -> float:
        return account + weighted_cost(request)


class Stride(RankedTenants):
    """Stride scheduling (Waldspurger and Weihl 1995): the tenant of least pass. O(log n).

    An admission moves the tenant's pass on by cost/weight. Unlike ``wfq`` the size of the next
    request does not count before it is served, so a large one waits no longer than a small one.

    Starvation bound, besides aging: a tenant that waits is passed by any other at most once
    more than its weighted share.
    """

    name = "stride"
    fights = "one tenant that crowds out others, where requests of all sizes should start alike"

    def _rank(self, account: float, request: QueuedRequest) -> float:
        return account


class Cfs(RankedTenants):
    """Completely fair scheduling: the tenant of least virtual runtime. O(log n).

    Runtime is priced tokens over weight: the prediction at admission, corrected to the tokens
    that came out when the request ends. A tenant that wakes up enters ``wake_credit`` tokens
    behind the others, so interactive tenants start at once.

    Starvation bound, besides aging: as ``stride``, plus ``wake_credit`` for each tenant that
    wakes up.
    """

    name = "cfs"
    fights = "tenants whose answers turn out longer than predicted"
    HINTS: ClassVar[Mapping[str, HintSpec]] = {
        **SHARING_HINTS,
        "wake_credit": HintSpec(2000, 0, 100_000, "priced tokens of head start after idleness"),
    }

    def __init__(self, hints: Hints | None = None) -> None:
        super().__init__(hints)
        self._charged: set[QueuedRequest] = set()

    def ended(self, request: QueuedRequest, output_tokens: int) -> None:
        if request not in self._charged:
            return
        self._charged.remove(request)
        features = request.features
        surplus = OUTPUT_TOKEN_PRICE * (output_tokens - features.predicted_output_tokens)
        self._charge(self._tenants.of(request), surplus / features.tenant_weight)
        self._selected = None

    def _rank(self, account: float, request: QueuedRequest) -> float:
        return account

    def _floor(self) -> float:
        return self._virtual - self.hints["wake_credit"]

    def _all_idle(self, furthest: float) -> None:
        super()._all_idle(furthest + self.hints["wake_credit"])

    def _served(self, request: QueuedRequest) -> None:
        super()._served(request)
        self._charged.add(request)


class RoundRobin(RankedTenants):
    """Deficit round robin over tenants (Shreedhar and Varghese 1996). O(log n).

    Each round gives a tenant ``quantum`` times its weight in priced tokens to spend; what is
    left is kept while it waits. With the account counted from the round of entry, a request is
    served in round ceil((account + cost) / quantum): the rounds need not be walked one by one.

    Starvation bound, besides aging: a request at the head of its line waits for
    ceil(cost / (weight x quantum)) rounds, in each of which another tenant takes at most its
    quantum and one request.
    """

    name = "rr"
    fights = "one tenant that crowds out others, with turns that are easy to follow"
    HINTS: ClassVar[Mapping[str, HintSpec]] = {
        **SHARING_HINTS,
        "quantum": HintSpec(2000, 100, 100_000, "priced tokens that one round adds, for weight 1"),
    }

    def __init__(self, hints: Hints | None = None) -> None:
        super().__init__(hints)
        self._quantum = self.hints["quantum"]
        self._round = 1.0

    def _rank(self, account: float, request: QueuedRequest) -> float:
        return math.ceil((account + weighted_cost(request)) / self._quantum)

    def _floor(self) -> float:
        return (self._round - 1) * self._quantum

    def _advance(self, tenant: Tenant) -> None:
        self._round = max(self._round, tenant.rank)

    def _all_idle(self, furthest: float) -> None:
        self._round = max(self._round, furthest / self._quantum + 1)


class Lottery(SharingTopology):
    """Lottery scheduling (Waldspurger and Weihl 1994), seeded. O(log n).

    Each draw is won with probability in proportion to weight / cost of the request in front,
    so in the long run tenants share tokens by weight, not admissions. The winner stands until
    it is served or leaves. The same ``seed`` and the same requests give the same order.

    Starvation bound: aging; besides, a tenant with share p of the tickets waits for more than
    k draws with probability (1 - p)^k.
    """

    name = "lottery"
    fights = "unfairness, with no pattern that a tenant could exploit"
    HINTS: ClassVar[Mapping[str, HintSpec]] = {
        **SHARING_HINTS,
        "seed": HintSpec(0, 0, 2**31, "of the draws"),
    }

    def __init__(self, hints: Hints | None = None) -> None:
        super().__init__(hints)
        self._tickets: TicketTree[Tenant] = TicketTree()
        self._random = random.Random(int(self.hints["seed"]))  # noqa: S311 - draws, no secrets
        self._winner: Tenant | None = None
        self._drawn: QueuedRequest | None = None

    def _head_changed(self, tenant: Tenant) -> None:
        head = tenant.head
        if head is None:
            self._tickets.drop(tenant.slot)
            tenant.slot = -1
            del self._tenants.by_name[tenant.name]
        elif tenant.slot < 0:
            tenant.slot = self._tickets.add(tenant, 1 / weighted_cost(head))
        else:
            self._tickets.change(tenant.slot, 1 / weighted_cost(head))

    def _best(self, now_s: float) -> QueuedRequest | None:
        if self._winner is None or self._winner.head is not self._drawn:
            self._winner = self._tickets.draw(self._random.random())
            self._drawn = None if self._winner is None else self._winner.head
        return self._drawn

    def _by_rank(self, now_s: float) -> Iterator[QueuedRequest]:
        """The winner; nobody knows who follows, so the others stand by age."""
        winner = self._best(now_s)
        if winner is not None:
            yield winner
        for request in self._arrivals:
            if request is not winner and not request.late:
                yield request


class Priority(KeyedTopology):
    """Strict priority: the most important first, then the oldest. O(log n).

    Lateness does not count unless ``on_time_first`` says so: an important request stays ahead
    of an unimportant one also when it missed its target.

    Starvation bound: aging alone; more important requests may pass without end.
    """

    name = "priority"
    fights = "important requests that wait among unimportant ones"
    HINTS: ClassVar[Mapping[str, HintSpec]] = {
        "aging_every": AGING,
        "on_time_first": ON_TIME_FIRST._replace(default=0),
    }

    def key(self, request: QueuedRequest) -> float:
        return -request.features.priority


class Mlfq(OnTimeTopology):
    """Multi-level feedback queue by token cost, oldest first within a level. O(levels + log n).

    The level of a request is the number of thresholds (``threshold``, times ``factor`` each)
    that its priced tokens over weight have passed: as predicted when it comes, as consumed when
    it comes back after a preemption, so who outgrew the prediction is demoted. Who has waited
    ``boost_s`` counts as top level.

    Starvation bound, besides aging: after ``boost_s`` nobody younger passes any more.
    """

    name = "mlfq"
    fights = "long requests among short ones, with lengths predicted by order of magnitude only"
    HINTS: ClassVar[Mapping[str, HintSpec]] = {
        "aging_every": AGING,
        "on_time_first": ON_TIME_FIRST,
        "levels": HintSpec(5, 2, 8, "number of levels"),
        "threshold": HintSpec(500, 10, 100_000, "priced tokens that end the first level"),
        "factor": HintSpec(2, 1.1, 10, "each level's end as a multiple of the one before"),
        "boost_s": HintSpec(60, 0.1, 3600, "seconds of waiting after which a request is on top"),
    }

    def __init__(self, hints: Hints | None = None) -> None:
        super().__init__(hints)
        count = int(self.hints["levels"])
        first, factor = self.hints["threshold"], self.hints["factor"]
        self._thresholds = [first * factor**power for power in range(count - 1)]
        self._boost_s = self.hints["boost_s"]
        self._levels = [LazyHeap(_arrival_s) for _ in range(count)]
        self._containers.extend(self._levels)

    def level(self, request: QueuedRequest) -> int:
        features = request.features
        consumed = features.prompt_tokens + OUTPUT_TOKEN_PRICE * request.produced
        cost = max(token_cost(request), consumed)
        return bisect_right(self._thresholds, cost / features.tenant_weight)

    def _push(self, request: QueuedRequest) -> None:
        self._levels[self.level(request)].push(request)

    def _push_all(self, requests: Sequence[QueuedRequest]) -> None:
        members: list[list[QueuedRequest]] = [[] for _ in self._levels]
        for request in requests:
            members[self.level(request)].append(request)
        for level, loaded in zip(self._levels, members, strict=True):
            level.load(loaded)

    def _best(self, now_s: float) -> QueuedRequest | None:
        heads = [head for level in self._levels if (head := level.first()) is not None]
        boosted = [head for head in heads if self._is_boosted(head, now_s)]
        return min(boosted, key=_age) if boosted else next(iter(heads), None)

    def _by_rank(self, now_s: float) -> Iterator[QueuedRequest]:
        def boosted(request: QueuedRequest) -> bool:
            return self._is_boosted(request, now_s)

        on_top = merge(*(takewhile(boosted, level) for level in self._levels), key=_age)
        rest = (dropwhile(boosted, level) for level in self._levels)
        return chain(on_top, chain.from_iterable(rest))

    def _is_boosted(self, request: QueuedRequest, now_s: float) -> bool:
        return now_s - request.features.arrival_s >= self._boost_s


def _arrival_s(request: QueuedRequest) -> float:
    return request.features.arrival_s


def _age(request: QueuedRequest) -> tuple[float, int]:
    return request.features.arrival_s, request.ticket
