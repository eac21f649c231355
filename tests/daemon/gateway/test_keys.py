from __future__ import annotations

import pytest

from hmas.daemon.gateway.errors import ApiError
from hmas.daemon.gateway.keys import KeyRing
from hmas.daemon.gateway.settings import ApiKey, Tier


def ring() -> KeyRing:
    keys = [
        ApiKey.model_validate({"key": "key-of-acme", "tenant": "acme", "max_in_flight": 3}),
        ApiKey.model_validate({"key": "second-key-of-acme", "tenant": "acme"}),
        ApiKey.model_validate({"key": "key-of-zeta", "tenant": "zeta"}),
    ]
    return KeyRing(keys, Tier(tenant="anonymous"))


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer key-of-acme"},
        {"authorization": "bearer  key-of-acme "},
        {"x-api-key": "key-of-acme"},
        {"api-key": "key-of-acme"},
    ],
)
def test_where_a_key_may_stand(headers: dict[str, str]) -> None:
    client = ring().identify(headers)
    assert (client.defaults.tenant, client.max_in_flight) == ("acme", 3)


def test_keys_of_one_tenant_share_its_count() -> None:
    keys = ring()
    first = keys.identify({"x-api-key": "key-of-acme"})
    second = keys.identify({"x-api-key": "second-key-of-acme"})
    other = keys.identify({"x-api-key": "key-of-zeta"})
    assert first.tenant_index == second.tenant_index != other.tenant_index
    assert keys.tenants == ("anonymous", "acme", "zeta")


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, "missing_api_key"),
        ({"authorization": "Basic a2V5"}, "missing_api_key"),
        ({"authorization": "Bearer "}, "missing_api_key"),
        ({"authorization": "Bearer key-of-nobody"}, "invalid_api_key"),
        ({"authorization": "Bearer k\udcff"}, "invalid_api_key"),
    ],
)
def test_no_key_and_wrong_keys(headers: dict[str, str], code: str) -> None:
    with pytest.raises(ApiError) as raised:
        ring().identify(headers)
    assert (raised.value.status, raised.value.code) == (401, code)
    assert "key-of-nobody" not in raised.value.message


def test_without_keys_everyone_is_anonymous() -> None:
    keys = KeyRing([], Tier(tenant="local", trusted=True))
    client = keys.identify({"authorization": "Bearer whatever"})
    assert client.defaults.tenant == "local"
    assert client.defaults.trusted
