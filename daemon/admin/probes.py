"""/livez, /readyz and /metrics: for supervisors and Prometheus, outside of /hmas/v1."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import PlainTextResponse
from fastapi.security import HTTPAuthorizationCredentials

from hmas.daemon.admin.dependencies import Port, bearer, caller
from hmas.daemon.admin.settings import AdminSettings

PROMETHEUS_TYPE = "text/plain; version=0.0.4; charset=utf-8"

router = APIRouter(tags=["probes"])


def scraper(
    request: Request,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
) -> None:
    """Lets Prometheus in without a token unless the settings say otherwise."""
    settings: AdminSettings = request.app.state.settings
    if not settings.public_metrics:
        caller(request, credentials)


@router.get("/livez", summary="The process answers", response_class=PlainTextResponse)
async def livez() -> str:
    return "ok\n"


@router.get(
    "/readyz",
    summary="The daemon controls its engines; the body says what is wrong",
    response_class=PlainTextResponse,
    responses={503: {"description": "not ready", "content": {"text/plain": {}}}},
)
async def readyz(port: Port) -> PlainTextResponse:
    health = await port.health()
    lines = health.problems or (("ready",) if health.ready else ("not ready",))
    return PlainTextResponse("\n".join(lines) + "\n", status_code=200 if health.ready else 503)


@router.get(
    "/metrics",
    summary="Prometheus text exposition",
    response_class=PlainTextResponse,
    dependencies=[Depends(scraper)],
)
async def metrics(port: Port) -> Response:
    return Response(port.metrics(), media_type=PROMETHEUS_TYPE)
