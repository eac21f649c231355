"""What the topologies share that divide the engine between tenants."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import ClassVar

from hmas.engine.directive import Hints
from hmas.engine.topologies.base import AGING, ON_TIME_FIRST, HintSpec, OnTimeTopology
from hmas.engine.topologies.cost import token_cost, weighted_cost
from hmas.engine.topologies.queued import Key, LazyHeap, QueuedRequest

SHARING_HINTS: Mapping[str, HintSpec] = {
    "aging_every": AGING,
    "on_time_first": ON_TIME_FIRST,
    "by_work": HintSpec(1, 0, 1, "within a tenant 1: least prompt + 2 x output tokens, 0: oldest"),
}


_Ahead = tuple[float, int, float, Iterator[QueuedRequest], QueuedRequest | None]


class Tenant:
    """One tenant's line. ``head`` is the next on time; None: nothing on time waits.

    ``account`` is what the tenant took, in weighted tokens; ``turn`` settles ties; ``rank`` and
    ``slot`` belong to the topology.
    """

    __slots__ = ("account", "head", "line", "name", "rank", "slot", "turn")

    def __init__(self, name: str, key: Key) -> None:
        self.name = name
        self.line = LazyHeap(key)
        self.head: QueuedRequest | None = None
        self.account = 0.0
        self.turn = 0
        self.rank = 0.0
        self.slot = -1


class Tenants:
    """Lines by tenant; ``changed`` is told of each whose head is another one than before."""

    def __init__(self, key: Key, changed: Callable[[Tenant], None]) -> None:
        self.by_name: dict[str, Tenant] = {}
        self._key = key
        self._changed = changed

    def of(self, request: QueuedRequest) -> Tenant:
        name = request.features.tenant
        tenant = self.by_name.get(name)
        if tenant is None:
            tenant = self.by_name[name] = Tenant(name, self._key)
        return tenant

    def push(self, request: QueuedRequest) -> None:
        tenant = self.of(request)
        tenant.line.push(request)
        self._refresh(tenant)

    def push_all(self, requests: Sequence[QueuedRequest]) -> None:
        lines: dict[str, list[QueuedRequest]] = {}
        for request in requests:
            lines.setdefault(request.features.tenant, []).append(request)
        for line in lines.values():
            tenant = self.of(line[0])
            tenant.line.load(line)
            self._refresh(tenant)

    def gone(self, request: QueuedRequest) -> None:
        """It left, or it is late now."""
        tenant = self.by_name.get(request.features.tenant)
        if tenant is not None and tenant.head is request:
            self._refresh(tenant)

    def forget_idle(self, floor: float) -> None:
        """Drop tenants that would begin at ``floor`` again anyway."""
        self.by_name = {
            name: tenant
            for name, tenant in self.by_name.items()
            if tenant.head is not None or tenant.account > floor
        }

    def compact(self) -> None:
        for tenant in self.by_name.values():
            tenant.line.compact()

    def _refresh(self, tenant: Tenant) -> None:
        head = tenant.line.first()
        if head is not tenant.head:
            tenant.head = head
            self._changed(tenant)


class SharingTopology(OnTimeTopology):
    """Tenants take turns; within a tenant the least work goes first, or the oldest."""

    HINTS: ClassVar[Mapping[str, HintSpec]] = SHARING_HINTS

    def __init__(self, hints: Hints | None = None) -> None:
        super().__init__(hints)
        key = token_cost if self.hints["by_work"] else _as_they_came
        self._tenants = Tenants(key, self._head_changed)
        self._containers.append(self._tenants)

    def remove(self, request: QueuedRequest) -> bool:
        was_here = super().remove(request)
        if was_here:
            self._tenants.gone(request)
        return was_here

    def _push(self, request: QueuedRequest) -> None:
        self._tenants.push(request)

    def _push_all(self, requests: Sequence[QueuedRequest]) -> None:
        self._tenants.push_all(requests)

    def _expire(self, now_s: float) -> None:
        for late in self._expiry.expire(now_s):
            self._tenants.gone(late)

    @abstractmethod
    def _head_changed(self, tenant: Tenant) -> None:
        """Another request stands first in the tenant's line, or none."""


class RankedTenants(SharingTopology):
    """The tenant of least rank goes next; O(log n), rank by :meth:`_rank` from its account.

    A tenant that comes back from idleness enters at :meth:`_floor`: it earned no credit while
    it was away, and what it owes stays while others wait.
    """

    def __init__(self, hints: Hints | None = None) -> None:
        super().__init__(hints)
        self._virtual = 0.0
        self._furthest = 0.0
        self._forget_above = 64
        self._ranked: list[tuple[float, int, Tenant]] = []
        self._active = 0
        self._turns = 0

    @abstractmethod
    def _rank(self, account: float, request: QueuedRequest) -> float:
        """Lower goes earlier, for a tenant with this account and this request in front."""

    def _floor(self) -> float:
        return self._virtual

    def _head_changed(self, tenant: Tenant) -> None:
        if tenant.head is None:
            self._active -= 1
            tenant.turn = 0
            if not self._active:
                self._all_idle(self._furthest)
            return
        if not tenant.turn:
            self._active += 1
            self._turns += 1
            tenant.turn = self._turns
            tenant.account = max(tenant.account, self._floor())
        self._place(tenant, tenant.head)

    def _place(self, tenant: Tenant, head: QueuedRequest) -> None:
        tenant.rank = self._rank(tenant.account, head)
        heappush(self._ranked, (tenant.rank, tenant.turn, tenant))
        if len(self._ranked) > 64 + 4 * self._active:
            self._ranked = self._valid()
            heapify(self._ranked)

    def _valid(self) -> list[tuple[float, int, Tenant]]:
        found = {id(entry[2]): entry for entry in self._ranked if _holds(entry)}
        return list(found.values())

    def _best(self, now_s: float) -> QueuedRequest | None:
        ranked = self._ranked
        while ranked:
            if _holds(ranked[0]):
                return ranked[0][2].head
            heappop(ranked)
        return None

    def _by_rank(self, now_s: float) -> Iterator[QueuedRequest]:
        """As admissions would follow each other if nothing else happened."""
        ahead: list[_Ahead] = [
            (rank, turn, tenant.account, iter(tenant.line), None)
            for rank, turn, tenant in self._valid()
        ]
        heapify(ahead)
        while ahead:
            _, turn, account, line, known = heappop(ahead)
            request = known or next(line)
            yield request
            if (following := next(line, None)) is not None:
                account += weighted_cost(request)
                heappush(ahead, (self._rank(account, following), turn, account, line, following))

    def _served(self, request: QueuedRequest) -> None:
        tenant = self._tenants.of(request)
        if tenant.head is None:
            tenant.account = max(tenant.account, self._floor())
        elif request is self._best(0.0):
            self._advance(tenant)
        self._charge(tenant, weighted_cost(request))
        if len(self._tenants.by_name) > self._forget_above:
            self._tenants.forget_idle(self._floor())
            self._forget_above = 64 + 2 * len(self._tenants.by_name)

    def _advance(self, tenant: Tenant) -> None:
        """Virtual time moves on to where the request in front, admitted now, began."""
        self._virtual = max(self._virtual, tenant.account)

    def _all_idle(self, furthest: float) -> None:
        """Nobody waits: virtual time moves on so far that nobody owes anything."""
        self._virtual = max(self._virtual, furthest)

    def _charge(self, tenant: Tenant, cost: float) -> None:
        tenant.account += cost
        self._furthest = max(self._furthest, tenant.account)
        if tenant.head is not None:
            self._place(tenant, tenant.head)


def _holds(entry: tuple[float, int, Tenant]) -> bool:
    rank, turn, tenant = entry
    return tenant.turn == turn and tenant.rank == rank


def _as_they_came(_: QueuedRequest) -> float:
    """The same key for all: a heap then goes by ticket."""
    return 0.0
