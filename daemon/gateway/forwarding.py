"""Which headers pass the gateway, in both directions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from multidict import CIMultiDict

from hmas.controllers.perception.headers import PRIORITY_HEADERS, TENANT_HEADERS
from hmas.daemon.gateway.keys import KEY_HEADERS

HOP_BY_HOP: Final = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)

KEPT_FROM_ENGINES: Final = (
    HOP_BY_HOP
    | {"host", "content-length", "content-encoding", "expect", "authorization", "x-request-id"}
    | {"x-dynamo-request-strict-priority"}
    | frozenset(KEY_HEADERS)
    | frozenset(PRIORITY_HEADERS)
    | frozenset(TENANT_HEADERS)
)
"""Ours to read or to decide: keys, tenant and priority claims, framing (bodies arrive decoded)."""

KEPT_FROM_CLIENTS: Final = HOP_BY_HOP | {"content-length", "date", "server", "x-request-id"}

OWN_PREFIX: Final = "x-hmas-"


def to_engine(
    headers: Mapping[str, str], request_id: str, authorization: str | None
) -> CIMultiDict[str]:
    """The client's headers without what the gateway decides, with the engine's own key."""
    forwarded: CIMultiDict[str] = CIMultiDict()
    for name, value in headers.items():
        lower = name.lower()
        if lower not in KEPT_FROM_ENGINES and not lower.startswith(OWN_PREFIX):
            forwarded.add(name, value)
    forwarded["X-Request-Id"] = request_id
    if authorization is not None:
        forwarded["Authorization"] = authorization
    return forwarded


def to_client(headers: Mapping[str, str]) -> CIMultiDict[str]:
    """The engine's headers without the framing of its own connection."""
    forwarded: CIMultiDict[str] = CIMultiDict()
    for name, value in headers.items():
        lower = name.lower()
        if lower not in KEPT_FROM_CLIENTS and not lower.startswith(OWN_PREFIX):
            forwarded.add(name, value)
    return forwarded
