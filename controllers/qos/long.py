"""One window of V_long while it fills."""

from __future__ import annotations

from typing import Final

from hmas.controllers.qos.fairness import service_fairness
from hmas.controllers.qos.ledger import Entry
from hmas.controllers.qos.requests import share, violation_rate
from hmas.controllers.qos.windows import Moments, QuantileSketch, nearest_rank
from hmas.controllers.service_gain import service_gain
from hmas.controllers.views import GroupView, LengthMix, VLong, VShort
from hmas.engine.events import Outcome, RequestFinished, StepStats
from hmas.engine.features import length_bucket

MAX_GROUPS: Final = 64
OTHER: Final = "other"
MIN_TENANT_REQUESTS: Final = 5
"""A tenant with fewer arrivals in a window says nothing about fairness."""


class Group:
    """Counts of one task type, one tenant, or of all requests."""

    __slots__ = (
        "arrivals",
        "ended",
        "failed",
        "tpot_known",
        "tpot_missed",
        "tpot_ms",
        "ttft_known",
        "ttft_missed",
        "ttft_ms",
    )

    def __init__(self) -> None:
        self.arrivals = self.ended = self.failed = 0
        self.ttft_known = self.ttft_missed = self.tpot_known = self.tpot_missed = 0
        self.ttft_ms = QuantileSketch()
        self.tpot_ms = QuantileSketch()

    def view(self, arrivals: int) -> GroupView:
        """``arrivals``: of the whole window."""
        ttft_rate = share(self.ttft_missed, self.ttft_known)
        return GroupView(
            share=self.arrivals / arrivals if arrivals else 0.0,
            samples=self.ttft_known,
            ttft_violation_rate=ttft_rate,
            tpot_violation_rate=share(self.tpot_missed, self.tpot_known),
            violation_rate=violation_rate(ttft_rate, share(self.failed, self.ended)),
            ttft_p95_ms=self.ttft_ms.quantile(0.95),
            tpot_p95_ms=self.tpot_ms.quantile(0.95),
        )


class Lengths:
    """Share per bucket, mean and variance of token lengths."""

    def __init__(self) -> None:
        self._buckets: dict[int, int] = {}
        self._moments = Moments()

    def add(self, tokens: int) -> None:
        bucket = length_bucket(tokens)
        self._buckets[bucket] = self._buckets.get(bucket, 0) + 1
        self._moments.add(tokens)

    def mix(self) -> LengthMix:
        count = max(1, self._moments.count)
        shares = {bucket: self._buckets[bucket] / count for bucket in sorted(self._buckets)}
        return LengthMix(shares=shares, mean=self._moments.mean, variance=self._moments.variance)


class TenantBooks:
    """Demand and service per tenant, in predicted priced tokens.

    A request is served when it starts: what runs for longer than a window is not unserved.
    """

    def __init__(self, waiting: dict[str, float]) -> None:
        self._demand = dict(waiting)
        self._served: dict[str, float] = {}
        self._weight: dict[str, float] = {}
        self._requests: dict[str, int] = {}

    def demand(self, entry: Entry) -> None:
        features = entry.features
        self._demand[features.tenant] = self._demand.get(features.tenant, 0.0) + entry.work
        self._weight[features.tenant] = features.tenant_weight
        self._requests[features.tenant] = self._requests.get(features.tenant, 0) + 1

    def serve(self, entry: Entry) -> None:
        features = entry.features
        self._served[features.tenant] = self._served.get(features.tenant, 0.0) + entry.work
        self._weight[features.tenant] = features.tenant_weight

    def fairness(self) -> float | None:
        """Over the tenants that asked often enough to be compared."""
        tenants = [t for t, count in self._requests.items() if count >= MIN_TENANT_REQUESTS]
        return service_fairness(
            {tenant: self._served.get(tenant, 0.0) for tenant in tenants},
            {tenant: self._demand[tenant] for tenant in tenants},
            self._weight,
        )


class LongWindow:
    """Facts, steps and cycles of one window; :meth:`view` condenses them."""

    def __init__(self, start_s: float, waiting_work: dict[str, float]) -> None:
        self.start_s = start_s
        self._all = Group()
        self._tasks: dict[str, Group] = {}
        self._tenants: dict[str, Group] = {}
        self._books = TenantBooks(waiting_work)
        self._prompts = Lengths()
        self._outputs = Lengths()
        self._work = Moments()
        self._per_second: dict[int, int] = {}
        self._unknown = self._blocked_misses = self._misses = 0
        self._gain = 0.0
        self._completed = self._sheds = self._preemptions = 0
        self._tokens = 0
        self._steps_seen = False
        self._mismatches: list[float] = []
        self._busy, self._kv, self._waiting = Moments(), Moments(), Moments()

    # Facts --------------------------------------------------------------------------------

    def arrived(self, at_s: float, entry: Entry) -> None:
        features = entry.features
        for group in self._groups(entry):
            group.arrivals += 1
        self._books.demand(entry)
        self._prompts.add(features.prompt_tokens)
        self._work.add(entry.work)
        second = int(at_s - self.start_s)
        self._per_second[second] = self._per_second.get(second, 0) + 1
        self._unknown += not features.known

    def ttft_missed(self, at_s: float, entry: Entry) -> None:
        self._misses += 1
        self._blocked_misses += entry.blocked
        for group in self._groups(entry):
            group.ttft_known += 1
            group.ttft_missed += 1

    def first_token(self, at_s: float, entry: Entry | None, ttft_ms: float) -> None:
        if entry is None:
            return
        self._books.serve(entry)
        in_time = ttft_ms <= entry.features.slo_ttft_ms and not entry.ttft_missed
        for group in self._groups(entry):
            group.ttft_ms.add(ttft_ms)
            group.ttft_known += in_time

    def finished(self, entry: Entry, event: RequestFinished) -> None:
        if event.outcome is Outcome.ABORTED:
            return
        completed = event.outcome is Outcome.COMPLETED
        if completed:
            self._completed += 1
            self._outputs.add(event.output_tokens)
            self._gain += service_gain(event)
        has_tpot = completed and event.output_tokens > 1
        for group in self._groups(entry):
            if has_tpot:
                group.tpot_known += 1
                group.tpot_missed += not event.tpot_ok
                group.tpot_ms.add(event.tpot_s * 1000.0)
            if not entry.ttft_missed:
                group.ended += 1
                group.failed += not event.slo_ok

    def shed(self, at_s: float, entry: Entry) -> None:
        self._sheds += 1
        if not entry.ttft_missed:
            for group in self._groups(entry):
                group.ttft_known += 1
                group.ttft_missed += 1

    # Engine -------------------------------------------------------------------------------

    def step(self, event: StepStats) -> None:
        self._steps_seen = True
        self._tokens += event.prefill_tokens + event.decode_tokens
        self._preemptions += event.preemptions

    def cycle(self, view: VShort) -> None:
        if view.mismatch is not None:
            self._mismatches.append(view.mismatch)
        for moments, value in (
            (self._busy, view.busy_fraction),
            (self._kv, view.kv_used),
            (self._waiting, view.waiting),
        ):
            if value is not None:
                moments.add(value)

    def view(self, latest: VShort, end_s: float, *, completed: bool, event_gaps: int) -> VLong:
        """The window as it stands; ``latest`` names the engine and what it runs."""
        duration_s = max(end_s - self.start_s, 1e-6)
        total, arrivals = self._all, self._all.arrivals
        everyone = total.view(arrivals)
        rate = everyone.violation_rate
        mismatches = sorted(self._mismatches)
        return VLong(
            engine_id=latest.engine_id,
            start_s=self.start_s,
            end_s=end_s,
            completed=completed,
            topology=latest.topology,
            bypass=latest.bypass,
            arrivals=arrivals,
            rps=arrivals / duration_s,
            rps_variation=self._rps_variation(duration_s),
            prompt=self._prompts.mix(),
            output=self._outputs.mix(),
            work_variation=self._work.variation,
            tasks=_views(self._tasks, arrivals),
            tenants=_views(self._tenants, arrivals),
            unknown_share=share(self._unknown, arrivals),
            samples=total.ttft_known,
            ttft_violation_rate=everyone.ttft_violation_rate,
            tpot_violation_rate=everyone.tpot_violation_rate,
            violation_rate=rate,
            goodput_rate=None if rate is None else 1 - rate,
            ttft_p50_ms=total.ttft_ms.quantile(0.5),
            ttft_p95_ms=everyone.ttft_p95_ms,
            ttft_p99_ms=total.ttft_ms.quantile(0.99),
            tpot_p50_ms=total.tpot_ms.quantile(0.5),
            tpot_p95_ms=everyone.tpot_p95_ms,
            hol_index=share(self._blocked_misses, self._misses),
            fairness=self._books.fairness(),
            mismatch_mean=sum(mismatches) / len(mismatches) if mismatches else None,
            mismatch_p95=nearest_rank(mismatches, 0.95),
            esg_per_s=self._gain / duration_s,
            throughput_per_s=self._completed / duration_s,
            tokens_per_s=self._tokens / duration_s if self._steps_seen else None,
            busy_fraction=self._busy.mean,
            kv_used=self._kv.mean,
            waiting=self._waiting.mean,
            preemptions=self._preemptions,
            sheds=self._sheds,
            coverage=latest.coverage,
            event_gaps=event_gaps,
        )

    def _groups(self, entry: Entry) -> tuple[Group, Group, Group]:
        features = entry.features
        return (
            self._all,
            _group(self._tasks, features.task_type.value),
            _group(self._tenants, features.tenant),
        )

    def _rps_variation(self, duration_s: float) -> float | None:
        seconds = int(duration_s)
        if seconds < 2:
            return None
        counts = Moments()
        for second in range(seconds):
            counts.add(self._per_second.get(second, 0))
        return counts.variation


def _group(groups: dict[str, Group], name: str) -> Group:
    group = groups.get(name)
    if group is None:
        name = name if len(groups) < MAX_GROUPS else OTHER
        group = groups.setdefault(name, Group())
    return group


def _views(groups: dict[str, Group], arrivals: int) -> dict[str, GroupView]:
    ranked = sorted(groups, key=lambda name: (-groups[name].arrivals, name))
    return {name: groups[name].view(arrivals) for name in ranked}
