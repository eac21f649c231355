"""The running API keeps what its OpenAPI document promises, whatever it is sent."""

from __future__ import annotations

import schemathesis
from hypothesis import HealthCheck, settings
from pydantic import SecretStr
from schemathesis.specs.openapi.checks import (
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from hmas.daemon.admin.app import create_app
from hmas.daemon.admin.memory_port import MemoryPort
from hmas.daemon.admin.settings import AdminSettings, AdminToken
from hmas.engine.clock import FakeClock

TOKEN = "a-very-long-secret-token"

_port = MemoryPort(FakeClock(1_790_000_000.0), history_s=120)
_settings = AdminSettings(tokens=(AdminToken(name="fuzz", token=SecretStr(TOKEN)),))
schema = schemathesis.openapi.from_asgi("/openapi.json", create_app(_port, _settings))


@schema.parametrize()
@settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
def test_every_operation_keeps_its_promises(case: schemathesis.Case) -> None:
    case.call_and_validate(
        headers={"Authorization": f"Bearer {TOKEN}"},
        checks=[
            schemathesis.checks.not_a_server_error,
            status_code_conformance,
            response_schema_conformance,
            unsupported_method,
        ],
    )
