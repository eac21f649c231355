from __future__ import annotations

from hmas.controllers.perception.incoming import NO_CLAIMS, Incoming, TenantDefaults


def test_a_bare_request_claims_nothing_and_trusts_nobody() -> None:
    request = Incoming(request_id="r", arrival_s=0.0, defaults=TenantDefaults())
    assert request.claims == NO_CLAIMS
    assert not request.defaults.trusted
