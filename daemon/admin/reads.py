"""Routes that show: fleet, views, history, health."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Response

from hmas.daemon.admin.checks import engine_named
from hmas.daemon.admin.dependencies import Caller, Page, Port, caller
from hmas.daemon.admin.port import ViewQuery
from hmas.daemon.wire import (
    AuditOut,
    DecisionOut,
    DirectiveOut,
    EngineStatus,
    ErrorOut,
    FleetStatus,
    GuardEventOut,
    HealthOut,
    Horizon,
    OverrideList,
    RequestOut,
    TopologyOut,
    ViewSeries,
    WhoAmI,
)

NOT_FOUND: dict[int | str, dict[str, Any]] = {
    404: {"model": ErrorOut, "description": "no such thing"}
}

router = APIRouter(dependencies=[Depends(caller)], tags=["look"])

EngineId = Annotated[str, Path(max_length=256, description="an engine's id", examples=["engine0"])]


@router.get("/whoami", summary="Whose token this is")
async def whoami(identity: Caller) -> WhoAmI:
    return WhoAmI(name=identity.name, role=identity.role)


@router.get("/status", summary="The fleet now: every engine, who set it and why")
async def status(port: Port, response: Response) -> FleetStatus:
    fleet = await port.status()
    response.headers["ETag"] = f'"{fleet.revision}"'
    return fleet


@router.get("/engines", summary="All engines")
async def engines(port: Port) -> list[EngineStatus]:
    return list((await port.status()).engines)


@router.get("/engines/{engine_id}", summary="One engine", responses=NOT_FOUND)
async def engine(port: Port, engine_id: EngineId) -> EngineStatus:
    return engine_named(engine_id, await port.status())


@router.get(
    "/engines/{engine_id}/views",
    summary="V_short or V_long of one engine, oldest first, with its switches",
    responses=NOT_FOUND,
)
async def views(
    port: Port,
    engine_id: EngineId,
    horizon: Horizon = Horizon.SHORT,
    since_s: Annotated[
        float | None, Query(alias="since", description="only views after this time, Unix seconds")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=10_000, description="newest views to return")] = 600,
) -> ViewSeries:
    return await port.views(ViewQuery(engine_id, horizon, since_s, limit))


@router.get("/decisions", summary="Decisions of the slow loop with their evidence")
async def decisions(port: Port, query: Page) -> list[DecisionOut]:
    return await port.decisions(query)


@router.get("/directives", summary="Directives with the engines' answers")
async def directives(port: Port, query: Page) -> list[DirectiveOut]:
    return await port.directives(query)


@router.get("/guards", summary="What the guards found and did")
async def guards(port: Port, query: Page) -> list[GuardEventOut]:
    return await port.guard_events(query)


@router.get("/overrides", summary="Pins, fixed controls and bypasses that hold now")
async def overrides(port: Port, response: Response) -> OverrideList:
    fleet = await port.status()
    response.headers["ETag"] = f'"{fleet.revision}"'
    return OverrideList(revision=fleet.revision, overrides=fleet.overrides)


@router.get("/topologies", summary="Ω: what can be pinned, what it fights, its hints")
async def topologies(port: Port) -> list[TopologyOut]:
    return port.topologies()


@router.get("/health", summary="Loops, storage, links and the LLM")
async def health(port: Port) -> HealthOut:
    return await port.health()


@router.get("/audit", summary="Who did what, why, with which result")
async def audit(port: Port, query: Page) -> list[AuditOut]:
    return await port.audit(query)


@router.get("/requests/{request_id}", summary="One finished request", responses=NOT_FOUND)
async def request(
    port: Port, request_id: Annotated[str, Path(max_length=256, examples=["req-7f3a"])]
) -> RequestOut:
    return await port.request(request_id)
