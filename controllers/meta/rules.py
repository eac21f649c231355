"""Rule-based policy map: the dominant failure pattern in V_long picks A_t (paper C.2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import msgspec

from hmas.controllers.config import SHORTEST_FIRST, RulesConfig
from hmas.controllers.meta.base import MetaContext, Outcome, Proposal, Refusal, RefusalKind
from hmas.controllers.meta.summary import Summary, summarize
from hmas.engine.directive import Hints
from hmas.engine.topologies import BASELINE

NAME: Final = "rules"

RECENT_WINDOWS: Final = 2


class Pattern(NamedTuple):
    """A failure pattern, the topology that fights it, and how pronounced it is.

    ``strength`` is the signal over its threshold: 1 and more means present.
    """

    topology: str
    strength: float
    words: str
    hints: Hints


def deadline_misses(summary: Summary, config: RulesConfig) -> Pattern:
    """Requests miss their first-token deadline: order by deadline."""
    rate = summary.ttft_violation_rate or 0.0
    present = 1.0 if rate > config.violation_band else 0.0
    words = f"deadline misses dominate ({rate:.2f} of {summary.samples})"
    by_first_token = 0.0 if rate > config.overload_rate else 1.0
    return Pattern("edf", present, words, {"first_token": by_first_token})


def missed_targets(summary: Summary, config: RulesConfig) -> Pattern:
    """Requests miss their first-token deadline, for whatever reason: most of them in time."""
    rate, variation = summary.ttft_violation_rate or 0.0, summary.work_variation or 0.0
    words = f"deadline misses ({rate:.2f} of {summary.samples})"
    blocked = (summary.hol_index or 0.0) / max(config.hol_index, 1e-6)
    strength = max(1.0, variation / config.high_variation, blocked)
    return Pattern("on_time", strength if rate > config.violation_band else 0.0, words, {})


def head_of_line(summary: Summary, config: RulesConfig) -> Pattern:
    """TTFT misses of short requests that waited behind long ones: isolate."""
    index = summary.hol_index or 0.0
    words = f"head-of-line blocking (index {index:.2f} of {summary.samples})"
    return Pattern("two_lane", index / max(config.hol_index, 1e-6), words, {})


def length_variance(summary: Summary, config: RulesConfig) -> Pattern:
    """Misses, and work that differs widely: the least work first, so that most are served."""
    variation, rate = summary.work_variation or 0.0, summary.ttft_violation_rate or 0.0
    words = f"deadline misses ({rate:.2f}) and work that varies widely (CV {variation:.2f})"
    strength = variation / config.high_variation if rate > config.violation_band else 0.0
    return Pattern("sjf", strength, words, dict(SHORTEST_FIRST))


def unfairness(summary: Summary, config: RulesConfig) -> Pattern:
    """One tenant crowds out others for several windows: share by weight."""
    if summary.fairness is None or summary.unfair_windows < config.unfair_windows:
        return Pattern("wfq", 0.0, "sharing is fair", {})
    strength = (1 - summary.fairness) / max(1 - config.fairness, 1e-6)
    words = (
        f"unfair between {summary.tenants} tenants for {summary.unfair_windows} windows"
        f" (Jain {summary.fairness:.2f})"
    )
    return Pattern("wfq", strength, words, {})


Signal = Callable[[Summary, RulesConfig], Pattern]

PATTERNS: Final[tuple[Signal, ...]] = (missed_targets, unfairness)

PATTERNS_OF_THE_PAPER: Final[tuple[Signal, ...]] = (
    deadline_misses,
    head_of_line,
    length_variance,
    unfairness,
)
"""The map of C.2, for engines without ``on_time`` or while it is in quarantine: deadline order,
isolation and shortest first each fight one cause of what it fights as a whole, and lose more
goodput where another cause joins in."""


class Rules:
    """Deterministic, explains itself, and holds unless something is wrong.

    Remembers only when the last overload was.
    """

    name = NAME

    def __init__(self, config: RulesConfig, min_samples: int) -> None:
        self._config = config
        self._min_samples = min_samples
        self._overloaded_s = float("-inf")

    def decide(self, context: MetaContext) -> Outcome:
        """A proposal for every context with windows; the active topology means hold."""
        if not context.windows:
            return Refusal(controller=NAME, kind=RefusalKind.NO_DATA, detail="no completed window")
        summary = self._summary(context)
        if (summary.ttft_violation_rate or 0.0) > self._config.overload_rate:
            self._overloaded_s = context.at_s
        calm = self._calm(summary)
        if calm:
            return self._relax(context, summary) or self._hold(context, calm)
        if (summary.unknown_share or 0.0) > self._config.unknown_share:
            return self._distrust(context, summary)
        return self._fight(context, summary)

    def _summary(self, context: MetaContext) -> Summary:
        """All windows, unless the newest ones alone tell of an overload: then only those.

        Fairness needs the long view in any case.
        """
        whole = summarize(context.windows, self._config.fairness)
        newest = summarize(context.windows[-RECENT_WINDOWS:], self._config.fairness)
        overloaded = (newest.ttft_violation_rate or 0.0) > self._config.overload_rate
        if not overloaded or newest.samples < self._min_samples:
            return whole
        return msgspec.structs.replace(
            newest, fairness=whole.fairness, unfair_windows=whole.unfair_windows
        )

    def _calm(self, summary: Summary) -> str:
        """Why nothing needs to change, or an empty string."""
        rate, band = summary.violation_rate, self._config.violation_band
        if rate is None or summary.samples < self._min_samples:
            return f"only {summary.samples} of {self._min_samples} requests measured"
        if rate <= band:
            return f"violation rate {rate:.2f} within band"
        if summary.arrivals < self._min_samples:
            return f"only {summary.arrivals} requests arrived: what is left is the past"
        ttft, tpot = summary.ttft_violation_rate or 0.0, summary.tpot_violation_rate or 0.0
        if ttft <= band:
            return f"TPOT misses dominate ({tpot:.2f}), the order of the queue cannot help"
        return ""

    def _relax(self, context: MetaContext, summary: Summary) -> Proposal | None:
        """Deadline order goes back to first-token deadlines when hardly anything is missed."""
        rate = summary.ttft_violation_rate
        if rate is None or rate > self._config.calm_rate or context.active != "edf":
            return None
        if context.at_s - self._overloaded_s < self._config.relax_after_s:
            return None
        hints = {**context.active_hints, **_offered({"first_token": 1.0}, context, "edf")}
        if hints == context.active_hints or summary.samples < self._min_samples:
            return None
        reason = f"violation rate {rate:.2f}, first-token deadlines again"
        return Proposal(controller=NAME, topology="edf", hints=hints, reason=reason)

    def _distrust(self, context: MetaContext, summary: Summary) -> Proposal:
        """Anomaly: most requests are untagged, so predicted lengths and classes mean nothing."""
        reason = f"{summary.unknown_share:.2f} of the requests are unknown"
        trusted = next((n for n in ("on_time", BASELINE) if n in context.candidates), None)
        if trusted is None or context.active == trusted:
            return self._hold(context, reason)
        return Proposal(controller=NAME, topology=trusted, reason=reason)

    def _fight(self, context: MetaContext, summary: Summary) -> Proposal:
        patterns = PATTERNS if "on_time" in context.candidates else PATTERNS_OF_THE_PAPER
        found = [pattern(summary, self._config) for pattern in patterns]
        present = [
            pattern
            for pattern in found
            if pattern.topology in context.candidates
            and self._preference(pattern, context.active) >= 1
        ]
        if not present:
            rate = summary.violation_rate or 0.0
            return self._hold(context, f"violation rate {rate:.2f}, no pattern stands out")
        best = max(present, key=lambda p: self._preference(p, context.active))
        hints = _offered(best.hints, context, best.topology)
        if best.topology == context.active:
            hints = self._settled(hints, context, summary)
        return Proposal(controller=NAME, topology=best.topology, hints=hints, reason=best.words)

    def _settled(self, hints: Hints, context: MetaContext, summary: Summary) -> Hints:
        """Between calm and overload the hints of the active topology stay as they are."""
        rate = summary.ttft_violation_rate or 0.0
        between = self._config.calm_rate < rate <= self._config.overload_rate
        return context.active_hints if between else {**context.active_hints, **hints}

    def _preference(self, pattern: Pattern, active: str) -> float:
        """Hysteresis: what is already being fought keeps an edge."""
        edge = 1 + self._config.hysteresis if pattern.topology == active else 1.0
        return pattern.strength * edge

    def _hold(self, context: MetaContext, reason: str) -> Proposal:
        return Proposal(
            controller=NAME, topology=context.active, hints=context.active_hints, reason=reason
        )


def _offered(hints: Hints, context: MetaContext, topology: str) -> Hints:
    """Without hints that the topology does not have."""
    bounds = context.hint_bounds.get(topology, {})
    return {name: value for name, value in hints.items() if name in bounds}
