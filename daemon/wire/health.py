"""How the daemon itself is."""

from __future__ import annotations

from hmas.daemon.wire.base import Answer, EpochS, Role


class LoopHealth(Answer):
    """One loop of the daemon; ``lag_s`` is how late its last run started."""

    name: str
    interval_s: float
    last_run_s: EpochS | None = None
    lag_s: float = 0.0
    runs: int = 0
    failures: int = 0
    last_error: str = ""


class StorageHealth(Answer):
    """The writer's buffer; ``lost`` counts records that no longer fitted."""

    ok: bool
    kind: str = ""
    pending: int = 0
    lost: int = 0
    last_error: str = ""


class LinkHealth(Answer):
    """One source of events, an engine or a gateway."""

    source: str
    kind: str
    reachable: bool
    last_event_age_s: float | None = None
    gaps: int = 0
    dropped: int = 0


class LlmHealth(Answer):
    """The meta-controller's LLM; never needed for service."""

    configured: bool = False
    model: str = ""
    last_ok_s: EpochS | None = None
    answers: int = 0
    refusals: int = 0
    last_error: str = ""


class HealthOut(Answer):
    """``problems`` says in sentences what an operator should know; empty is good."""

    ready: bool
    problems: tuple[str, ...] = ()
    loops: tuple[LoopHealth, ...] = ()
    storage: StorageHealth
    links: tuple[LinkHealth, ...] = ()
    llm: LlmHealth = LlmHealth()


class WhoAmI(Answer):
    """Whose token this is."""

    name: str
    role: Role
