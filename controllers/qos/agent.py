"""Phi_qos: one engine's events into V_short, V_long and D_b (paper 3.3)."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import msgspec

from hmas.controllers.config import ViewConfig
from hmas.controllers.conformal import ConformalBound
from hmas.controllers.qos.drift import DriftDetector
from hmas.controllers.qos.ledger import Entry, Ledger
from hmas.controllers.qos.long import LongWindow
from hmas.controllers.qos.requests import RequestWindows
from hmas.controllers.qos.steps import StepSignals, StepWindows
from hmas.controllers.step_fit import StepFit
from hmas.controllers.tpot_guard import TpotGuard
from hmas.controllers.views import VLong, VShort
from hmas.engine.events import (
    Event,
    Outcome,
    RequestArrived,
    RequestFinished,
    RequestFirstToken,
    RequestShed,
    StepStats,
)

TOKEN_EPSILON: Final = 1.0
"""epsilon of Eq. 7, in tokens per second."""

LOST_AFTER_S: Final = 30.0
"""A request that an idle engine should have ended this long ago is one whose end was lost."""

MAX_STRETCH: Final = 1.5
"""A window closed later than this many times its length is not a completed one."""


class Learning(NamedTuple):
    """What learns from each request and step."""

    calibration: ConformalBound
    step_fit: StepFit
    guard: TpotGuard


class QosAgent:
    """Observes events; ``short_view`` every cycle, ``close_window`` when a window ends.

    A few microseconds per event; memory is bounded whatever arrives.
    """

    def __init__(
        self,
        engine_id: str,
        config: ViewConfig,
        learning: Learning,
        epsilon: float,
    ) -> None:
        self._engine_id = engine_id
        self._config = config
        self._calibration = learning.calibration
        self._step_fit = learning.step_fit
        self._guard = learning.guard
        self._ledger = Ledger(self)
        self._steps = StepWindows(config)
        self._requests = RequestWindows(config)
        self._window: LongWindow | None = None
        self._drift = DriftDetector(epsilon)
        self._first_at_s: float | None = None
        self._last_at_s: float | None = None
        self._last_arrival_s = 0.0
        self._gaps = 0
        self._gaps_at_start = 0
        self._interrupted = False
        self._latest: VShort | None = None

    @property
    def latest(self) -> VShort | None:
        """The newest V_short."""
        return self._latest

    @property
    def in_flight(self) -> int:
        """Requests known and not ended."""
        return self._ledger.in_flight

    def observe(self, event: Event) -> None:
        """One event of the engine, or of a gateway about a request of this engine."""
        if self._first_at_s is None:
            self._first_at_s = event.at_s
        match event:
            case StepStats():
                self._last_at_s = event.at_s
                self._steps.observe(event)
                self._step_fit.observe(event)
                if self._window is not None:
                    self._window.step(event)
            case RequestFirstToken():
                self._ledger.start(event)
            case RequestFinished():
                self._ledger.finish(event)
            case RequestArrived():
                self._last_arrival_s = event.at_s
                self._ledger.arrive(event)
            case RequestShed():
                self._ledger.shed(event)

    def note_gap(self, batches: int) -> None:
        self._gaps += batches

    def engine_restarted(self) -> None:
        """What was in flight is gone; the window in progress is not a completed one."""
        self._ledger.clear()
        self._steps = StepWindows(self._config)
        self._interrupted = True

    def short_view(self, now_s: float) -> VShort:
        """V_short at ``now_s``; a silent busy engine has no engine signals."""
        if self._window is None:
            self._window = LongWindow(now_s, {})
        self._ledger.expire(now_s)
        if (last := self._steps.last) is not None and self._steps.idle():
            self._ledger.forget_before(last.at_s - LOST_AFTER_S)
        view = self._merge(now_s)
        self._window.cycle(view)
        self._latest = view
        return view

    def close_window(self, now_s: float) -> VLong | None:
        """The window that ended by ``now_s``, None while it is open.

        Its ``completed`` is false when it was cut by a restart, stretched by a stalled
        daemon, or lost event batches.
        """
        window, latest = self._window, self._latest
        length_s = self._config.long_window_s
        if window is None or latest is None or now_s < window.start_s + length_s - 1e-6:
            return None
        gaps = self._gaps - self._gaps_at_start
        stretched = now_s - window.start_s > MAX_STRETCH * length_s
        completed = not (self._interrupted or stretched or gaps)
        view = window.view(latest, now_s, completed=completed, event_gaps=gaps)
        self._window = LongWindow(now_s, self._ledger.waiting_work())
        self._gaps_at_start, self._interrupted = self._gaps, False
        if not completed:
            return view
        return msgspec.structs.replace(view, drift=self._drift.check(view))

    # Facts of the ledger ------------------------------------------------------------------

    def arrived(self, at_s: float, entry: Entry) -> None:
        self._requests.arrived(at_s, entry)
        if self._window is not None:
            self._window.arrived(at_s, entry)

    def ttft_missed(self, at_s: float, entry: Entry) -> None:
        self._requests.ttft_missed(at_s, entry)
        if self._window is not None:
            self._window.ttft_missed(at_s, entry)

    def first_token(self, at_s: float, entry: Entry | None, ttft_ms: float) -> None:
        self._requests.first_token(at_s, entry, ttft_ms)
        if self._window is not None:
            self._window.first_token(at_s, entry, ttft_ms)

    def finished(self, entry: Entry, event: RequestFinished) -> None:
        self._requests.finished(entry, event)
        if self._window is not None:
            self._window.finished(entry, event)
        features = event.features
        error = event.output_tokens - features.predicted_output_tokens
        if event.outcome is Outcome.COMPLETED:
            self._calibration.observe(features.length_bucket, error)
            if event.output_tokens > 1:
                self._guard.observe(missed=not event.tpot_ok)
        elif event.outcome is Outcome.ABORTED:
            self._calibration.observe_censored(features.length_bucket, error)

    def shed(self, at_s: float, entry: Entry) -> None:
        self._requests.shed(at_s, entry)
        if self._window is not None:
            self._window.shed(at_s, entry)

    # V_short ------------------------------------------------------------------------------

    def _merge(self, now_s: float) -> VShort:
        steps, last = self._steps.signals(now_s), self._steps.last
        seen_s = 0.0 if self._first_at_s is None else now_s - self._first_at_s
        requests = self._requests.signals(now_s, seen_s)
        measured = last is not None and not self._silent(now_s)
        if not measured:
            steps = StepSignals()
        return VShort(
            at_s=now_s,
            engine_id=self._engine_id,
            **steps._asdict(),
            **self._tpot(steps.step_interval_ms),
            **requests.shown() if self._first_at_s is not None else {},
            mismatch=mismatch(requests.demand_tokens_per_s, steps.tokens_per_s),
            coverage=self._calibration.coverage,
            event_gaps=self._gaps,
            signal_age_s=None if last is None else max(0.0, now_s - last.at_s),
            **engine_state(last, measured=measured),
        )

    def _tpot(self, interval_ms: float | None) -> dict[str, Any]:
        tight_ms = self._requests.tight_tpot_ms()
        if interval_ms is None or tight_ms is None:
            return {}
        return {
            "tpot_utilisation": interval_ms / tight_ms,
            "tpot_at_risk": self._requests.tpot_at_risk(interval_ms),
        }

    def _silent(self, now_s: float) -> bool:
        """The engine should have reported by now; an idle one has nothing to report."""
        last, limit_s = self._steps.last, self._config.stale_after_s
        if last is None or now_s - last.at_s <= limit_s:
            return False
        overdue = last.at_s < self._last_arrival_s < now_s - limit_s
        return overdue or not self._steps.idle()


def mismatch(demand_per_s: float, service_per_s: float | None) -> float | None:
    """M_rho (Eq. 7): how far token demand exceeds the measured token service rate."""
    if service_per_s is None:
        return None
    return max(0.0, demand_per_s / (service_per_s + TOKEN_EPSILON) - 1)


def engine_state(last: StepStats | None, *, measured: bool) -> dict[str, Any]:
    """What the engine said of itself; queue and KV only while it is being measured."""
    if last is None:
        return {}
    said = {
        "n_run": last.n_run,
        "token_budget": last.token_budget,
        "topology": last.topology,
        "bypass": last.bypass,
        "directive_version": last.directive_version,
        "lease_expired": last.lease_expired,
        "doubt": last.doubt,
    }
    if measured:
        said |= {"waiting": last.waiting, "running": last.running, "kv_used": last.kv_used}
    return said
