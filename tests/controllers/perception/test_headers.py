from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.controllers.perception.headers import (
    JOB_HEADERS,
    PRIORITY_HEADERS,
    TTFT_HEADERS,
    BodyHints,
    InvalidClaimError,
    read_claims,
)
from hmas.controllers.perception.incoming import NO_CLAIMS
from hmas.engine.features import TaskType


def test_nothing_said_claims_nothing() -> None:
    assert read_claims({}) == NO_CLAIMS


@pytest.mark.parametrize("names", [TTFT_HEADERS, PRIORITY_HEADERS, JOB_HEADERS])
def test_every_accepted_header_is_read_and_the_first_wins(names: tuple[str, ...]) -> None:
    for name in names:
        assert read_claims({name: "7"}) != NO_CLAIMS
    everything = {name: str(10 * rank) for rank, name in enumerate(names, start=1)}
    assert read_claims(everything) == read_claims({names[0]: "10"})


def test_slo_headers() -> None:
    claims = read_claims({"x-llm-d-slo-ttft-ms": "250.5", "x-slo-tpot-ms": " 40 "})
    assert (claims.slo_ttft_ms, claims.slo_tpot_ms) == (250.5, 40.0)


@pytest.mark.parametrize(
    ("headers", "body", "priority"),
    [
        ({"x-request-priority": "5"}, BodyHints(), 5),
        ({"x-dynamo-request-priority": "5"}, BodyHints(), 5),
        ({"x-vllm-priority": "5"}, BodyHints(), -5),
        ({"x-vllm-priority": "-5"}, BodyHints(), 5),
        ({}, BodyHints(priority=-3), 3),
        ({}, BodyHints(agent_priority=3), 3),
        ({}, BodyHints(priority=10**30), -1000),
        ({"x-request-priority": "1"}, BodyHints(priority=9), 1),
        ({}, BodyHints(priority=True), None),
        ({}, BodyHints(priority="high"), None),
    ],
)
def test_priority_is_higher_first_in_ours_and_lower_first_in_vllm(
    headers: dict[str, str], body: BodyHints, priority: int | None
) -> None:
    assert read_claims(headers, body).priority == priority


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("x-slo-ttft-ms", "0"),
        ("x-slo-ttft-ms", "soon"),
        ("x-slo-ttft-ms", "nan"),
        ("x-slo-ttft-ms", "inf"),
        ("x-slo-tpot-ms", "-1"),
        ("x-slo-tpot-ms", "1e300"),
        ("x-request-priority", "1001"),
        ("x-vllm-priority", "9" * 5000),
        ("x-dynamo-request-priority", "1.5"),
        ("x-session-id", "s" * 257),
        ("x-session-id", "a\udcffb"),
        ("x-hmas-task-type", "Poetry"),
        ("x-hmas-importance", "0.2"),
    ],
)
def test_a_header_out_of_range_is_named(header: str, value: str) -> None:
    with pytest.raises(InvalidClaimError, match=f"header `{header}` must be") as raised:
        read_claims({header: value})
    assert raised.value.header == header


def test_tenant_is_believed_from_trusted_clients_only() -> None:
    headers = {"x-gateway-inference-fairness-id": "acme"}
    assert read_claims(headers).tenant is None
    assert read_claims(headers, trusted=True).tenant == "acme"
    assert read_claims({"x-llm-d-inference-fairness-id": "t" * 300}).tenant is None


def test_body_fields() -> None:
    hints = BodyHints(
        service_tier="flex",
        session_id="session-1",
        metadata={"stage": "2", "role": "planner", "task_type": "code_generation"},
        output_tokens=512,
    )
    claims = read_claims({}, hints)
    assert claims.importance == 0.5
    assert claims.job_id == "session-1"
    assert (claims.stage, claims.role) == (2, "planner")
    assert claims.task_type is TaskType.CODE_GENERATION
    assert claims.output_tokens == 512


def test_headers_beat_the_body() -> None:
    hints = BodyHints(session_id="body", service_tier="priority", metadata={"task_type": "QA"})
    headers = {
        "x-session-id": "header",
        "x-hmas-importance": "0.6",
        "x-hmas-task-type": "Translation",
    }
    claims = read_claims(headers, hints)
    assert (claims.job_id, claims.importance) == ("header", 0.6)
    assert claims.task_type is TaskType.TRANSLATION


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(json_values, json_values, st.dictionaries(st.text(), json_values, max_size=4), json_values)
def test_a_strange_body_field_is_ignored(
    priority: object, tier: object, metadata: dict[str, object], osl: object
) -> None:
    hints = BodyHints(
        priority=priority,
        service_tier=tier,
        session_id=tier,
        metadata=metadata,
        output_tokens=osl,
        agent_priority=osl,
    )
    claims = read_claims({}, hints, trusted=True)
    assert claims.priority is None or abs(claims.priority) <= 1000
    assert claims.output_tokens is None or claims.output_tokens >= 1
