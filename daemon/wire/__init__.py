"""The admin API's models: what the daemon, the command line and the console exchange as JSON.

Times end in ``_s`` and are seconds since the Unix epoch; durations and ages are seconds,
latencies milliseconds, lengths tokens, rates and shares between 0 and 1. ``None`` in an answer
means "not measured", never zero. Requests refuse unknown keys; answers may gain keys, and
readers ignore what they do not know.
"""

from __future__ import annotations

from hmas.daemon.wire.base import (
    ALL_ENGINES,
    AckState,
    Answer,
    EpochS,
    ErrorCode,
    ErrorDetail,
    ErrorOut,
    Evidence,
    Horizon,
    OverrideKind,
    Owner,
    ProblemOut,
    Request,
    Role,
    Share,
    Verdict,
)
from hmas.daemon.wire.fleet import (
    DirectiveState,
    EngineStatus,
    FleetStatus,
    HintOut,
    LeaseState,
    LimitsOut,
    TopologyOut,
)
from hmas.daemon.wire.health import (
    HealthOut,
    LinkHealth,
    LlmHealth,
    LoopHealth,
    StorageHealth,
    WhoAmI,
)
from hmas.daemon.wire.history import (
    AuditOut,
    DecisionOut,
    DirectiveOut,
    GuardEventOut,
    ProposalOut,
    RefusalOut,
    RequestOut,
)
from hmas.daemon.wire.overrides import (
    BypassRequest,
    ControlsRequest,
    OverrideChange,
    OverrideList,
    OverrideOut,
    OverrideRequest,
    PinRequest,
)
from hmas.daemon.wire.views import (
    LongViewPoint,
    TopologySwitch,
    ViewPoint,
    ViewSeries,
)

__all__ = [
    "ALL_ENGINES",
    "AckState",
    "Answer",
    "AuditOut",
    "BypassRequest",
    "ControlsRequest",
    "DecisionOut",
    "DirectiveOut",
    "DirectiveState",
    "EngineStatus",
    "EpochS",
    "ErrorCode",
    "ErrorDetail",
    "ErrorOut",
    "Evidence",
    "FleetStatus",
    "GuardEventOut",
    "HealthOut",
    "HintOut",
    "Horizon",
    "LeaseState",
    "LimitsOut",
    "LinkHealth",
    "LlmHealth",
    "LongViewPoint",
    "LoopHealth",
    "OverrideChange",
    "OverrideKind",
    "OverrideList",
    "OverrideOut",
    "OverrideRequest",
    "Owner",
    "PinRequest",
    "ProblemOut",
    "ProposalOut",
    "RefusalOut",
    "Request",
    "RequestOut",
    "Role",
    "Share",
    "StorageHealth",
    "TopologyOut",
    "TopologySwitch",
    "Verdict",
    "ViewPoint",
    "ViewSeries",
    "WhoAmI",
]
