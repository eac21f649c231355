"""One invented engine: what it runs, who set it, and the records that leaves."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass

from hmas.daemon.admin import memory_load
from hmas.daemon.admin.memory_load import LIMITS, PHASES, Applied, Load
from hmas.daemon.admin.memory_overrides import OverrideBook
from hmas.daemon.wire import (
    AckState,
    DecisionOut,
    DirectiveOut,
    DirectiveState,
    EngineStatus,
    GuardEventOut,
    LeaseState,
    LongViewPoint,
    OverrideKind,
    Owner,
    ProposalOut,
    RefusalOut,
    TopologySwitch,
    Verdict,
    ViewPoint,
)

HISTORY = 1800
LEASE_S = 5.0
META_S = 60
LONG_S = 10
WHY = {
    "fcfs": "load is even, nothing to separate",
    "edf": "deadline misses drive the violations",
    "two_lane": "long prompts block short ones (HOL index 0.41)",
    "wfq": "tenant acme takes 71 % of the tokens",
}


@dataclass(frozen=True, slots=True)
class Choice:
    """What holds, who decided it and why; ``applied`` includes fixed controls."""

    applied: Applied
    owner: Owner
    set_by: str
    sentence: str


class MemoryEngine:
    """Advances by whole seconds and keeps its own history, newest last."""

    def __init__(self, engine_id: str, *, offset_s: float, reachable: bool, seed: int) -> None:
        self.engine_id = engine_id
        self.reachable = reachable
        self.short: deque[ViewPoint] = deque(maxlen=HISTORY)
        self.long: deque[LongViewPoint] = deque(maxlen=HISTORY)
        self.switches: deque[TopologySwitch] = deque(maxlen=200)
        self.decisions: deque[DecisionOut] = deque(maxlen=200)
        self.directives: deque[DirectiveOut] = deque(maxlen=500)
        self.guard_events: deque[GuardEventOut] = deque(maxlen=200)
        self._rng = random.Random(seed)  # noqa: S311
        self._offset_s = offset_s
        self._load = Load()
        self._meta = Choice(Applied("fcfs"), Owner.DEFAULT, "daemon", "started on the baseline")
        self._active = self._meta
        self._set_at_s = 0.0
        self._last_seen_s: float | None = None

    def tick(self, at_s: float, overrides: OverrideBook) -> None:
        """One second: decide, switch, serve."""
        if not self.reachable:
            return
        if int(at_s) % META_S == 0:
            self._decide(at_s)
        self._switch(self._resolve(overrides), at_s)
        applied = self._active.applied
        self._load, view = memory_load.advance(self._load, applied, at_s, self._offset_s, self._rng)
        self.short.append(view)
        self._last_seen_s = at_s
        if int(at_s) % LONG_S == 0:
            self.long.append(self._window(view))

    def _resolve(self, overrides: OverrideBook) -> Choice:
        bypass = overrides.holding(OverrideKind.BYPASS, self.engine_id)
        if bypass is not None:
            why = f"bypass by {bypass.owner}: {bypass.reason}"
            return Choice(Applied("fcfs", bypass=True), Owner.OPERATOR, bypass.owner, why)
        fixed = overrides.holding(OverrideKind.CONTROLS, self.engine_id)
        n_run, budget = (fixed.n_run, fixed.token_budget) if fixed else (None, None)
        pin = overrides.holding(OverrideKind.PIN, self.engine_id)
        if pin is not None and pin.topology is not None:
            applied = Applied(pin.topology, n_run=n_run, token_budget=budget)
            why = f"pin {pin.topology} by {pin.owner}: {pin.reason}"
            return Choice(applied, Owner.PIN, pin.owner, why)
        applied = Applied(self._meta.applied.topology, n_run=n_run, token_budget=budget)
        return Choice(applied, self._meta.owner, self._meta.set_by, self._meta.sentence)

    def _switch(self, choice: Choice, at_s: float) -> None:
        before = self._active
        if choice == before and self.directives:
            return
        self._active = choice
        self._set_at_s = at_s
        topology, bypass = choice.applied.topology, choice.applied.bypass
        if (topology, bypass) != (before.applied.topology, before.applied.bypass):
            self.switches.append(
                TopologySwitch(
                    at_s=at_s,
                    engine_id=self.engine_id,
                    before=before.applied.topology,
                    after=topology,
                    owner=choice.owner,
                    sentence=choice.sentence,
                    bypass=bypass,
                )
            )
        self.directives.append(self._directive(choice, at_s))

    def _directive(self, choice: Choice, at_s: float) -> DirectiveOut:
        return DirectiveOut(
            engine_id=self.engine_id,
            version=len(self.directives) + 1,
            issued_at_s=at_s,
            ttl_s=LEASE_S,
            topology=choice.applied.topology,
            bypass=choice.applied.bypass,
            n_run=choice.applied.n_run,
            token_budget=choice.applied.token_budget,
            owner=choice.owner,
            sentence=choice.sentence,
            cause=self.decisions[-1].id if self.decisions else "",
            ack=AckState.ACK,
            answered_at_s=at_s + 0.004,
        )

    def _decide(self, at_s: float) -> None:
        wanted = memory_load.phase_topology(at_s, self._offset_s)
        before = self._meta.applied.topology
        refused = self._rng.random() < 0.15
        shadow = PHASES[self._rng.randrange(len(PHASES))]
        llm = ProposalOut(
            source="llm",
            primary=True,
            topology=None if refused else wanted,
            reason="" if refused else WHY[wanted],
            latency_s=round(self._rng.uniform(0.6, 2.4), 2),
            refusal=RefusalOut(kind="not-json", detail="answer began with 'Sure! Here'")
            if refused
            else None,
        )
        rules = ProposalOut(source="rules", primary=False, topology=wanted, reason=WHY[wanted])
        bandit = ProposalOut(source="bandit", primary=False, topology=shadow, reason="explores")
        source = "rules" if refused else "llm"
        verb = "hold" if wanted == before else "switch to"
        sentence = f"{verb} {wanted}: {WHY[wanted]}"
        self._meta = Choice(Applied(wanted), Owner.META, source, sentence)
        if wanted != before:
            self._guard(at_s, wanted)
        view = self.short[-1] if self.short else None
        self.decisions.append(
            DecisionOut(
                id=f"{self.engine_id}-d{int(at_s)}",
                at_s=at_s,
                engine_id=self.engine_id,
                sentence=sentence,
                before=before,
                topology=wanted,
                source=source,
                applied=wanted != before,
                proposals=(llm, rules, bandit),
                inputs=view.model_dump(mode="json") if view else {},
                guard=Verdict.PASS if wanted != before else None,
                guard_sentence="TTFT p99 stayed below 1.3 times its value before the switch"
                if wanted != before
                else "",
                directive_version=len(self.directives) or None,
                prompt_version="1",
            )
        )

    def _guard(self, at_s: float, topology: str) -> None:
        verdict = self._rng.choice([Verdict.PASS, Verdict.PASS, Verdict.INCONCLUSIVE])
        words = {
            Verdict.PASS: f"{topology} holds: TTFT p99 is 0.82 times its value before",
            Verdict.INCONCLUSIVE: f"{topology}: 7 samples are too few, the window is extended",
        }
        self.guard_events.append(
            GuardEventOut(
                id=f"{self.engine_id}-g{int(at_s)}",
                at_s=at_s,
                engine_id=self.engine_id,
                guard="rollback",
                verdict=verdict,
                action="extend" if verdict is Verdict.INCONCLUSIVE else "keep",
                sentence=words[verdict],
                measurements={"ttft_p99_ratio": 0.82, "violation_ratio": 0.71, "samples": 212},
            )
        )

    def _window(self, view: ViewPoint) -> LongViewPoint:
        return LongViewPoint(
            at_s=view.at_s,
            window_s=LONG_S,
            requests=round((view.completions_per_s or 0) * LONG_S),
            rps=view.arrivals_per_s,
            rps_variation=0.31,
            prompt_tokens_mean=812.0,
            output_tokens_mean=214.0,
            length_variation=1.4,
            ttft_violation_rate=view.ttft_violation_rate,
            tpot_violation_rate=view.tpot_violation_rate,
            goodput_rate=view.goodput_rate,
            ttft_p99_ms=view.ttft_p99_ms,
            tpot_p95_ms=view.tpot_p95_ms,
            hol_index=0.22,
            fairness=0.91,
            mismatch=0.06,
            drift=0.03,
            tasks={"Dialogue": 0.52, "CodeGeneration": 0.27, "Summarization": 0.21},
            tenants={"acme": 0.6, "globex": 0.4},
        )

    def status(self, now_s: float, overrides: OverrideBook) -> EngineStatus:
        """What the daemon would say of it; an engine never reached has nothing to tell."""
        if self._last_seen_s is None:
            return EngineStatus(engine_id=self.engine_id, reachable=False)
        view, last = self.short[-1], self.directives[-1]
        mine = tuple(o for o in overrides.all(now_s) if o.engine_id in {"*", self.engine_id})
        return EngineStatus(
            engine_id=self.engine_id,
            kind="simulator",
            kind_version="demo",
            model="demo/qwen3-8b",
            reachable=self.reachable,
            last_seen_s=self._last_seen_s,
            topology=self._active.applied.topology,
            owner=self._active.owner,
            set_by=self._active.set_by,
            set_at_s=self._set_at_s,
            sentence=self._active.sentence,
            bypass=self._active.applied.bypass,
            directive=DirectiveState(
                version=last.version,
                issued_at_s=last.issued_at_s,
                ttl_s=last.ttl_s,
                age_s=max(0.0, now_s - self._last_seen_s),
                ack=last.ack,
                active_version=last.version,
            ),
            lease=LeaseState(
                expires_at_s=self._last_seen_s + LEASE_S,
                expired=now_s > self._last_seen_s + LEASE_S,
            ),
            v_short=view,
            n_run=view.n_run,
            token_budget=view.token_budget,
            limits=LIMITS,
            topologies=(*PHASES, "sjf"),
            overrides=mine,
        )
