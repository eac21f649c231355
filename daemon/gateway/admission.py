"""The bounds on what is inside: over the whole gateway, and per tenant."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from hmas.daemon.gateway.errors import saturated, unavailable
from hmas.daemon.gateway.keys import Client
from hmas.daemon.gateway.limits import CountTable, DrainRate
from hmas.engine.clock import Clock
from hmas.engine.events import ShedReason

TOTAL: Final = 0
FIRST_ENGINE: Final = 1
SHUTDOWN_RETRY_S: Final = 1


class Place:
    """One request's place; a class, because a generator costs several times as much."""

    __slots__ = ("_admission", "_tenant")

    def __init__(self, admission: Admission, tenant: int) -> None:
        self._admission = admission
        self._tenant = tenant

    def __enter__(self) -> None:
        self._admission.enter(self._tenant)

    def __exit__(self, *raised: object) -> None:
        self._admission.leave(self._tenant)


class Admission:
    """Counts requests in, from the moment their body is read, and turns the surplus away.

    Columns of ``counts``: the total, one per engine, then one per tenant.
    """

    def __init__(
        self,
        counts: CountTable,
        engines: int,
        max_in_flight: int,
        drain_rate: DrainRate,
        clock: Clock,
    ) -> None:
        self._counts = counts
        self._first_tenant = FIRST_ENGINE + engines
        self._max_in_flight = max_in_flight
        self._drain_rate = drain_rate
        self._clock = clock
        self._empty = asyncio.Event()
        self.is_draining = False

    @property
    def inside(self) -> int:
        """Requests of this worker."""
        return self._counts.own(TOTAL)

    def admit(self, client: Client) -> Place:
        """A place for one request, held inside its context.

        Raises:
            ApiError: 503 while draining, 429 with Retry-After when full.
        """
        self._refuse_surplus(client)
        return Place(self, self._first_tenant + client.tenant_index)

    def enter(self, tenant: int) -> None:
        self._counts.add(TOTAL, 1)
        self._counts.add(tenant, 1)

    def leave(self, tenant: int) -> None:
        self._counts.add(TOTAL, -1)
        self._counts.add(tenant, -1)
        self._drain_rate.left(self._clock.now_s())
        if self.is_draining and self.inside == 0:
            self._empty.set()

    async def drain(self, timeout_s: float) -> int:
        """Refuse new requests and wait for those inside; returns how many are left."""
        self.is_draining = True
        if self.inside:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._empty.wait(), timeout_s)
        return self.inside

    def _refuse_surplus(self, client: Client) -> None:
        if self.is_draining:
            raise unavailable(
                "this gateway is shutting down", SHUTDOWN_RETRY_S, ShedReason.SHUTTING_DOWN
            )
        if self._counts.total(TOTAL) >= self._max_in_flight:
            raise saturated("the gateway is full", self._retry_after_s(), ShedReason.SATURATED)
        limit = client.max_in_flight
        tenant = self._first_tenant + client.tenant_index
        if limit is not None and self._counts.total(tenant) >= limit:
            raise saturated(
                f"tenant `{client.defaults.tenant}` already has {limit} requests in flight",
                self._retry_after_s(),
                ShedReason.SATURATED,
            )

    def _retry_after_s(self) -> int:
        return self._drain_rate.retry_after_s(self._clock.now_s())
