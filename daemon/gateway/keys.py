"""API keys: who a client is and what it may do."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hmas.controllers.perception.incoming import TenantDefaults
from hmas.daemon.gateway.errors import unauthorized
from hmas.daemon.gateway.settings import ApiKey, Tier

KEY_HEADERS = ("x-api-key", "api-key")


@dataclass(frozen=True, slots=True)
class Client:
    """One configured client; ``tenant_index`` numbers the tenants of the settings.

    ``learns``: its tenant agreed that models learn from its requests.
    """

    defaults: TenantDefaults
    tenant_index: int
    max_in_flight: int | None
    learns: bool = False


class KeyRing:
    """Looks clients up by their key; without keys everyone is the anonymous client."""

    def __init__(self, keys: Iterable[ApiKey], anonymous: Tier) -> None:
        keys = tuple(keys)
        tenants = {anonymous.tenant: 0}
        for key in keys:
            tenants.setdefault(key.tenant, len(tenants))
        self.tenants = tuple(tenants)
        self._clients = {
            _digest(key.key.get_secret_value()): _client(key, tenants[key.tenant]) for key in keys
        }
        self._anonymous = _client(anonymous, 0)

    def identify(self, headers: Mapping[str, str]) -> Client:
        """The client behind ``Authorization: Bearer``, ``x-api-key`` or ``api-key``.

        Raises:
            ApiError: 401, no key or one that is not known.
        """
        if not self._clients:
            return self._anonymous
        key = _key_of(headers)
        if not key:
            raise unauthorized(
                "no API key given: send the header `Authorization: Bearer <key>`",
                "missing_api_key",
            )
        client = self._clients.get(_digest(key))
        if client is None:
            raise unauthorized("the API key is not known here", "invalid_api_key")
        return client


def _key_of(headers: Mapping[str, str]) -> str:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        return token.strip()
    for name in KEY_HEADERS:
        value = headers.get(name)
        if value:
            return value.strip()
    return ""


def _digest(key: str) -> bytes:
    """Looked up by digest, so that timing says nothing about a key's beginning."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()


def _client(tier: Tier, tenant_index: int) -> Client:
    return Client(
        defaults=TenantDefaults(
            tenant=tier.tenant,
            weight=tier.weight,
            priority=tier.priority,
            importance=tier.importance,
            trusted=tier.trusted,
            task_type=tier.task_type,
            slo_ttft_ms=tier.slo_ttft_ms,
            slo_tpot_ms=tier.slo_tpot_ms,
            min_slo_ttft_ms=tier.min_slo_ttft_ms,
            min_slo_tpot_ms=tier.min_slo_tpot_ms,
        ),
        tenant_index=tenant_index,
        max_in_flight=tier.max_in_flight,
        learns=tier.learn,
    )
