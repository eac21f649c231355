"""The fleet as the daemon knows it now, and what can be chosen for it."""

from __future__ import annotations

from pydantic import Field

from hmas.daemon.wire.base import AckState, Answer, EpochS, Owner
from hmas.daemon.wire.overrides import OverrideOut
from hmas.daemon.wire.views import ViewPoint


class DirectiveState(Answer):
    """The newest directive of one engine and how the engine took it."""

    version: int
    issued_at_s: EpochS
    ttl_s: float
    age_s: float = Field(description="since the engine last confirmed it, or since issue")
    ack: AckState
    reason: str = Field("", description="the engine's own words when it refused")
    active_version: int | None = Field(None, description="version the engine runs")


class LeaseState(Answer):
    """Until when the engine trusts its directive; expired means it runs bypass by itself."""

    expires_at_s: EpochS | None = None
    expired: bool = False


class LimitsOut(Answer):
    """Bounds the engine was started with; controls outside are refused."""

    max_num_seqs: int
    max_num_batched_tokens: int
    kv_blocks: int
    block_size: int
    max_model_len: int


class EngineStatus(Answer):
    """One engine as the daemon knows it now."""

    engine_id: str
    kind: str = Field("", description="vllm, simulator, pump, or empty while never reached")
    kind_version: str = ""
    model: str = ""
    reachable: bool
    last_seen_s: EpochS | None = None
    topology: str | None = None
    owner: Owner = Owner.DEFAULT
    set_by: str = Field("", description="operator's or meta-controller's name")
    set_at_s: EpochS | None = None
    sentence: str = Field("", description="why, in one sentence")
    bypass: bool = False
    directive: DirectiveState | None = None
    lease: LeaseState = LeaseState()
    doubt: str = Field("", description="why the plug-in fell back to stock order")
    v_short: ViewPoint | None = None
    n_run: int | None = None
    token_budget: int | None = None
    limits: LimitsOut | None = None
    topologies: tuple[str, ...] = ()
    overrides: tuple[OverrideOut, ...] = ()
    event_gaps: int = Field(0, description="event batches that never arrived")
    events_dropped: int = Field(0, description="events the engine itself had to drop")


class FleetStatus(Answer):
    """Everything an operator needs at a glance. ``revision`` grows with every override."""

    now_s: EpochS
    started_at_s: EpochS
    version: str
    revision: int
    engines: tuple[EngineStatus, ...]
    overrides: tuple[OverrideOut, ...] = ()
    meta_mode: str = Field("", description="primary meta-controller: llm, rules, ...")
    demo: bool = Field(default=False, description="true only for invented data")


class HintOut(Answer):
    """One parameter of a topology and the bounds an operator may choose in."""

    name: str
    minimum: float
    maximum: float
    default: float
    unit: str = ""
    description: str = ""


class TopologyOut(Answer):
    """One member of Ω: what it fights, and its hints."""

    name: str
    group: str = Field("", description="failure mode: baseline, deadline, duration, ...")
    fights: str = Field(description="what it is good against, in one sentence")
    hints: tuple[HintOut, ...] = ()
