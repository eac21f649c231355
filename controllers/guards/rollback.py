"""Guard window after a topology switch (paper Eq. 12): did it hurt?"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from hmas.controllers.config import RollbackConfig
from hmas.controllers.views import VShort


class Verdict(StrEnum):
    """``inconclusive``: too little to judge by; ``error``: not measured. Neither is good or bad."""

    PASS = "pass"  # noqa: S105
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    ERROR = "error"


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """``final``: the window is closed; otherwise it was extended."""

    verdict: Verdict
    final: bool
    topology: str
    reason: str
    evidence: dict[str, float | int | str | None] = {}


class RollbackGuard:
    """Compares V_short with the one just before the switch.

    Eq. 12: ``TTFT_99 > rho · pre`` or ``nu > rho · nu_pre``, read with the objective of Eq. 1:

    - a longer tail fails only together with a higher nu: topologies serve requests that are
      already late last, so their tail grows while more requests meet their targets;
    - nothing fails while more requests per second meet both targets than before: then the
      load grew, not the harm.

    Judged once the windows of V_short hold only time after the switch (``settle_s``).
    """

    def __init__(self, config: RollbackConfig, settle_s: float) -> None:
        self._config = config
        self._settle_s = min(settle_s, config.window_s)
        self._before: VShort | None = None
        self._topology = ""
        self._opened_s = 0.0
        self._failing_since_s: float | None = None
        self._extended = False
        self.open = False

    def watch(self, topology: str, before: VShort | None, now_s: float) -> None:
        """Open a window for a switch to ``topology`` that happens now."""
        if not self._config.enabled:
            return
        self._topology, self._before, self._opened_s = topology, before, now_s
        self._failing_since_s = None
        self._extended = False
        self.open = True

    def cancel(self) -> None:
        """Somebody else took the topology over."""
        self.open = False

    def check(self, view: VShort) -> Judgement | None:
        """A judgement when one was reached or the window was extended, else None."""
        if not self.open:
            return None
        watched_s = view.at_s - self._opened_s
        if watched_s < self._settle_s:
            return None
        verdict, reason = self._judge(view)
        if verdict is Verdict.FAIL and not self._confirmed(view.at_s):
            return None
        if verdict is not Verdict.FAIL:
            self._failing_since_s = None
            if watched_s < self._config.window_s:
                return None
        return self._conclude(verdict, reason, view, watched_s)

    def _conclude(
        self, verdict: Verdict, reason: str, view: VShort, watched_s: float
    ) -> Judgement | None:
        settled = verdict in {Verdict.PASS, Verdict.FAIL}
        final = settled or watched_s >= self._config.max_window_s
        if not final and self._extended:
            return None
        self._extended = True
        self.open = not final
        return Judgement(
            verdict=verdict,
            final=final,
            topology=self._topology,
            reason=reason,
            evidence=self._evidence(view, watched_s),
        )

    def _confirmed(self, now_s: float) -> bool:
        if self._failing_since_s is None:
            self._failing_since_s = now_s
        return now_s - self._failing_since_s >= self._config.confirm_s

    def _judge(self, view: VShort) -> tuple[Verdict, str]:
        before, least = self._before, self._config.min_samples
        if view.running is None:
            return Verdict.ERROR, "the engine is silent"
        if before is None or before.violation_rate is None or before.samples < least:
            return Verdict.INCONCLUSIVE, "too few requests before the switch"
        if view.violation_rate is None or view.samples < least:
            return Verdict.INCONCLUSIVE, f"only {view.samples} of {least} requests since the switch"
        return self._compare(before.violation_rate, view.violation_rate, before, view)

    def _compare(
        self, nu_before: float, nu: float, before: VShort, view: VShort
    ) -> tuple[Verdict, str]:
        rho = self._config.rho
        rates = f"violation rate {nu:.2f} after {nu_before:.2f}"
        if (view.goodput_per_s or 0.0) > (before.goodput_per_s or 0.0):
            return Verdict.PASS, f"{rates}, goodput rose"
        if nu > rho * nu_before and nu - nu_before >= self._config.min_rise:
            return Verdict.FAIL, f"{rates}, over {rho:g} times"
        if self._tail_grew(before, view) and nu > nu_before:
            tail = f"TTFT p99 {view.ttft_p99_ms:.0f} ms after {before.ttft_p99_ms:.0f}"
            return Verdict.FAIL, f"{tail}, over {rho:g} times, {rates}"
        return Verdict.PASS, rates

    def _tail_grew(self, before: VShort, view: VShort) -> bool:
        if before.ttft_p99_ms is None or view.ttft_p99_ms is None:
            return False
        return view.ttft_p99_ms > self._config.rho * before.ttft_p99_ms

    def _evidence(self, view: VShort, watched_s: float) -> dict[str, float | int | str | None]:
        before = self._before
        return {
            "watched_s": round(watched_s, 3),
            "rho": self._config.rho,
            "samples": view.samples,
            "violation_rate": view.violation_rate,
            "violation_rate_before": before.violation_rate if before else None,
            "ttft_p99_ms": view.ttft_p99_ms,
            "ttft_p99_ms_before": before.ttft_p99_ms if before else None,
            "goodput_per_s": view.goodput_per_s,
            "goodput_per_s_before": before.goodput_per_s if before else None,
        }
