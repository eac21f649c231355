"""Every order of Ω once more, without a heap: O(n) per look and obviously right.

A model is told what happens to the pool and says who is next. It shares only the price of a
request with the code under test.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from hmas.engine.directive import Hints
from hmas.engine.topologies import QueuedRequest, topology_class
from hmas.engine.topologies.cost import (
    remaining_service_s,
    remaining_work,
    token_cost,
    weighted_cost,
)

Requests = list[QueuedRequest]


class Model:
    """Front rank, aging and lateness; ``pick`` chooses among those on time."""

    may_be_late = True

    def __init__(self, name: str, hints: Hints) -> None:
        self.hints = topology_class(name).checked_hints(hints)
        self.front: Requests = []
        self.rest: Requests = []
        self.admitted = 0
        self.now_s = 0.0

    def is_late(self, request: QueuedRequest) -> bool:
        split = self.may_be_late and bool(self.hints.get("on_time_first", 1))
        return split and request.late_at_s < self.now_s

    def on_time(self) -> Requests:
        return [request for request in self.rest if not self.is_late(request)]

    def next(self) -> QueuedRequest | None:
        aging = int(self.hints.get("aging_every", 0))
        if self.front:
            return self.front[0]
        if aging and self.rest and self.admitted % aging == aging - 1:
            return self.rest[0]
        return next(iter(self.order()), None)

    def order(self) -> Requests:
        """All without front rank."""
        return self.ranked(self.on_time()) + [r for r in self.rest if self.is_late(r)]

    def ranked(self, on_time: Requests) -> Requests:
        return on_time

    def add(self, request: QueuedRequest) -> None:
        self.rest.append(request)
        self.changed()

    def requeue(self, request: QueuedRequest) -> None:
        self.front.insert(0, request)

    def take(self, request: QueuedRequest) -> None:
        if not self.front or request is not self.front[0]:
            self.admitted += 1
            self.served(request)
        self.remove(request)

    def remove(self, request: QueuedRequest) -> None:
        (self.front if request in self.front else self.rest).remove(request)
        self.changed()

    def pass_time(self, now_s: float) -> None:
        self.now_s = now_s
        self.changed()

    def served(self, request: QueuedRequest) -> None:
        pass

    def ended(self, request: QueuedRequest, output_tokens: int) -> None:
        pass

    def changed(self) -> None:
        """After every event."""


class Fcfs(Model):
    may_be_late = False


class Keyed(Model):
    def __init__(self, name: str, hints: Hints) -> None:
        super().__init__(name, hints)
        self.key: Callable[[QueuedRequest], float] = {
            "edf": lambda r: r.late_at_s if hints.get("first_token") else r.features.deadline_s,
            "llf": lambda r: r.features.deadline_s - remaining_service_s(r),
            "sjf": lambda r: token_cost(r) if hints.get("by_work") else r.features.service_time_s,
            "srtf": remaining_work if hints.get("by_work", 1) else remaining_service_s,
            "priority": lambda r: -r.features.priority,
        }[name]

    def ranked(self, on_time: Requests) -> Requests:
        return sorted(on_time, key=self.key)


class Ratios(Model):
    """HRRN by classes of service time: an eighth of a doubling each, oldest first inside."""

    def ranked(self, on_time: Requests) -> Requests:
        left, order = list(on_time), []
        while left:
            heads: dict[int, QueuedRequest] = {}
            for request in sorted(left, key=lambda r: r.features.arrival_s):
                heads.setdefault(math.floor(math.log2(self.service_s(request)) * 8), request)
            best = min(heads.values(), key=lambda r: (-self.ratio(r), self.rest.index(r)))
            order.append(best)
            left.remove(best)
        return order

    def ratio(self, request: QueuedRequest) -> float:
        return max(0.0, self.now_s - request.features.arrival_s) / self.service_s(request)

    @staticmethod
    def service_s(request: QueuedRequest) -> float:
        return max(0.001, remaining_service_s(request))


class Lanes(Model):
    """Only with an explicit ``split_s``."""

    def __init__(self, name: str, hints: Hints) -> None:
        super().__init__(name, hints)
        self.gate = 0

    def ranked(self, on_time: Requests) -> Requests:
        period = int(self.hints["gate_period"])
        turns = min(period - 1, max(1, round(period * self.hints["fast_share"])))
        slow_first = self.gate >= turns
        return sorted(on_time, key=lambda r: (self.is_slow(r) != slow_first, self.urgency(r)))

    def is_slow(self, request: QueuedRequest) -> bool:
        return request.features.service_time_s > self.hints["split_s"]

    def urgency(self, request: QueuedRequest) -> tuple[float, float]:
        slack_s, step_s = request.features.slack_s(0.0), self.hints["slack_step_s"]
        return (slack_s // step_s, token_cost(request)) if step_s else (slack_s, 0.0)

    def served(self, request: QueuedRequest) -> None:
        self.gate = (self.gate + 1) % int(self.hints["gate_period"])


class Shares(Model):
    """Tenants with accounts."""

    def __init__(self, name: str, hints: Hints) -> None:
        super().__init__(name, hints)
        self.name = name
        self.accounts: dict[str, float] = {}
        self.turns: dict[str, int] = {}
        self.last_turn = 0
        self.virtual = 0.0
        self.furthest = 0.0
        self.charged: set[QueuedRequest] = set()

    def floor(self) -> float:
        if self.name == "rr":
            return (max(1.0, self.virtual) - 1) * self.hints["quantum"]
        return self.virtual - self.hints.get("wake_credit", 0)

    def rank(self, account: float, head: QueuedRequest) -> float:
        finish = account + weighted_cost(head)
        ranks = {"wfq": finish, "rr": math.ceil(finish / self.hints.get("quantum", 1))}
        return ranks.get(self.name, account)

    def lines(self, on_time: Requests) -> dict[str, Requests]:
        lines: dict[str, Requests] = {}
        for request in sorted(on_time, key=token_cost if self.hints["by_work"] else lambda _: 0):
            lines.setdefault(request.features.tenant, []).append(request)
        return lines

    def ranked(self, on_time: Requests) -> Requests:
        lines, accounts = self.lines(on_time), dict(self.accounts)
        order: Requests = []
        while lines:
            tenant = min(lines, key=lambda t: (self.rank(accounts[t], lines[t][0]), self.turns[t]))
            request = lines[tenant].pop(0)
            order.append(request)
            accounts[tenant] += weighted_cost(request)
            lines = {name: line for name, line in lines.items() if line}
        return order

    def changed(self) -> None:
        waiting = self.lines(self.on_time())
        if self.turns and not waiting:
            rounds = self.furthest / self.hints.get("quantum", 1) + 1
            idle = self.furthest + self.hints.get("wake_credit", 0)
            self.virtual = max(self.virtual, rounds if self.name == "rr" else idle)
        self.turns = {tenant: turn for tenant, turn in self.turns.items() if tenant in waiting}
        for tenant in waiting:
            if tenant not in self.turns:
                self.last_turn += 1
                self.turns[tenant] = self.last_turn
                self.accounts[tenant] = max(self.accounts.get(tenant, 0.0), self.floor())

    def served(self, request: QueuedRequest) -> None:
        tenant = request.features.tenant
        account = self.accounts.get(tenant, 0.0)
        ranked = self.ranked(self.on_time())
        if tenant not in self.turns:
            account = max(account, self.floor())
        elif ranked and ranked[0] is request:
            begun = self.rank(account, request) if self.name == "rr" else account
            self.virtual = max(self.virtual, begun)
        self.charge(tenant, account + weighted_cost(request))
        self.charged.add(request)

    def charge(self, tenant: str, account: float) -> None:
        self.accounts[tenant] = account
        self.furthest = max(self.furthest, account)

    def ended(self, request: QueuedRequest, output_tokens: int) -> None:
        if self.name == "cfs" and request in self.charged:
            features = request.features
            surplus = 2 * (output_tokens - features.predicted_output_tokens)
            account = self.accounts.get(features.tenant, 0.0)
            self.charge(features.tenant, account + surplus / features.tenant_weight)
        self.charged.discard(request)


class Levels(Model):
    def ranked(self, on_time: Requests) -> Requests:
        return sorted(
            on_time,
            key=lambda r: (0 if self.boosted(r) else 1 + self.level(r), r.features.arrival_s),
        )

    def boosted(self, request: QueuedRequest) -> bool:
        return self.now_s - request.features.arrival_s >= self.hints["boost_s"]

    def level(self, request: QueuedRequest) -> int:
        features = request.features
        consumed = features.prompt_tokens + 2 * request.produced
        cost = max(token_cost(request), consumed) / features.tenant_weight
        level, end = 0, self.hints["threshold"]
        while level < int(self.hints["levels"]) - 1 and cost >= end:
            level, end = level + 1, end * self.hints["factor"]
        return level


class Unforeseen(Model):
    """Who is next is not told: drawn by lot, or planned from measurements."""

    def next(self) -> Any:
        return NotImplemented


MODELS: dict[str, type[Model]] = {
    "fcfs": Fcfs,
    **dict.fromkeys(("edf", "llf", "sjf", "srtf", "priority"), Keyed),
    "hrrn": Ratios,
    "two_lane": Lanes,
    **dict.fromkeys(("wfq", "stride", "cfs", "rr"), Shares),
    "mlfq": Levels,
    **dict.fromkeys(("lottery", "on_time"), Unforeseen),
}
