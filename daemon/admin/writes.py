"""Routes that change something; every one leaves the operator's name in the audit."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Body, Path, Response
from fastapi.openapi.models import Example

from hmas.daemon.admin.checks import check_controls, check_override, check_pin
from hmas.daemon.admin.dependencies import (
    CancelRevision,
    ExpectedRevision,
    Operator,
    Port,
    merged_revision,
)
from hmas.daemon.wire import (
    BypassRequest,
    ControlsRequest,
    ErrorOut,
    OverrideChange,
    OverrideKind,
    OverrideRequest,
    PinRequest,
)

WRITE_ERRORS: dict[int | str, dict[str, Any]] = {
    403: {"model": ErrorOut, "description": "the token may only look"},
    404: {"model": ErrorOut, "description": "no such engine or override"},
    409: {"model": ErrorOut, "description": "the overrides changed since that revision"},
}

router = APIRouter(tags=["act"], responses=WRITE_ERRORS)

OverrideId = Annotated[str, Path(max_length=64, description="id of the override")]

PIN_EXAMPLES: dict[str, Example] = {
    "an hour of edf": {
        "value": {"topology": "edf", "reason": "deadline misses since 14:00", "duration_s": 3600}
    },
    "one engine, with a hint": {
        "value": {
            "engine_id": "engine0",
            "topology": "two_lane",
            "reason": "long prompts block the chat tenant",
            "duration_s": 900,
        }
    },
}
CONTROLS_EXAMPLES: dict[str, Example] = {
    "half the concurrency": {
        "value": {"n_run": 32, "reason": "KV cache thrashes", "duration_s": 1800}
    }
}
BYPASS_EXAMPLES: dict[str, Example] = {
    "back to plain FCFS": {"value": {"reason": "incident 4711", "duration_s": 600}}
}


R = TypeVar("R", bound=OverrideRequest)


def _with_revision(request: R, header: int | None) -> R:
    revision = merged_revision(header, request.expected_revision)
    return request.model_copy(update={"expected_revision": revision})


def _tag(response: Response, change: OverrideChange) -> OverrideChange:
    response.headers["ETag"] = f'"{change.revision}"'
    return change


@router.post("/pins", summary="Hold a topology against the meta-controller")
async def pin(
    port: Port,
    operator: Operator,
    expected: ExpectedRevision,
    body: Annotated[PinRequest, Body(openapi_examples=PIN_EXAMPLES)],
    response: Response,
) -> OverrideChange:
    check_pin(body, await port.status(), port.topologies())
    return _tag(response, await port.pin(_with_revision(body, expected), operator.name))


@router.post("/controls", summary="Fix N_run, B_token or both")
async def controls(
    port: Port,
    operator: Operator,
    expected: ExpectedRevision,
    body: Annotated[ControlsRequest, Body(openapi_examples=CONTROLS_EXAMPLES)],
    response: Response,
) -> OverrideChange:
    check_controls(body, await port.status())
    return _tag(response, await port.set_controls(_with_revision(body, expected), operator.name))


@router.post("/bypass", summary="Kill switch: plain FCFS, unbounded controls")
async def bypass(
    port: Port,
    operator: Operator,
    expected: ExpectedRevision,
    body: Annotated[BypassRequest, Body(openapi_examples=BYPASS_EXAMPLES)],
    response: Response,
) -> OverrideChange:
    check_override(body, await port.status())
    return _tag(response, await port.set_bypass(_with_revision(body, expected), operator.name))


@router.delete("/pins/{override_id}", summary="Remove a pin")
async def unpin(
    port: Port,
    operator: Operator,
    revision: CancelRevision,
    override_id: OverrideId,
    response: Response,
) -> OverrideChange:
    change = await port.cancel(OverrideKind.PIN, override_id, operator.name, revision)
    return _tag(response, change)


@router.delete("/controls/{override_id}", summary="Give N_run and B_token back to Statera")
async def release_controls(
    port: Port,
    operator: Operator,
    revision: CancelRevision,
    override_id: OverrideId,
    response: Response,
) -> OverrideChange:
    change = await port.cancel(OverrideKind.CONTROLS, override_id, operator.name, revision)
    return _tag(response, change)


@router.delete("/bypass/{override_id}", summary="End an operator's bypass")
async def end_bypass(
    port: Port,
    operator: Operator,
    revision: CancelRevision,
    override_id: OverrideId,
    response: Response,
) -> OverrideChange:
    change = await port.cancel(OverrideKind.BYPASS, override_id, operator.name, revision)
    return _tag(response, change)
