"""The admin API over HTTP: typed answers, and errors that an operator can act on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import quote

import httpx
from pydantic import TypeAdapter, ValidationError

from hmas.daemon.wire import (
    BypassRequest,
    ControlsRequest,
    DecisionOut,
    ErrorDetail,
    ErrorOut,
    FleetStatus,
    GuardEventOut,
    HealthOut,
    OverrideChange,
    OverrideKind,
    OverrideRequest,
    PinRequest,
    TopologyOut,
    ViewSeries,
    WhoAmI,
)

T = TypeVar("T")

_ROUTES = {
    OverrideKind.PIN: "/pins",
    OverrideKind.CONTROLS: "/controls",
    OverrideKind.BYPASS: "/bypass",
}
_KINDS: Mapping[type[OverrideRequest], OverrideKind] = {
    PinRequest: OverrideKind.PIN,
    ControlsRequest: OverrideKind.CONTROLS,
    BypassRequest: OverrideKind.BYPASS,
}


class ApiError(Exception):
    """The admin API did not do it; ``str()`` is fit to be shown."""


class UnreachableError(ApiError):
    """No answer in time, or none at all."""


class TokenError(ApiError):
    """The token is not known, or may not do this."""


class RefusedError(ApiError):
    """The API said no; ``detail`` names fields and fixes."""

    def __init__(self, status: int, detail: ErrorDetail) -> None:
        super().__init__(detail.message)
        self.status = status
        self.detail = detail

    @property
    def lines(self) -> list[str]:
        """What is wrong and the fix, one line per problem."""
        problems = [
            f"{problem.message}: {problem.fix}" if problem.fix else problem.message
            for problem in self.detail.problems
        ]
        return problems or [self.detail.message]


class AdminClient:
    """One operator's connection. ``transport`` is for tests."""

    def __init__(
        self,
        url: str,
        token: str,
        timeout_s: float = 4.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._url = url
        self._http = httpx.Client(
            trust_env=False,
            base_url=f"{url.rstrip('/')}/hmas/v1",
            headers=headers,
            timeout=httpx.Timeout(timeout_s, connect=min(timeout_s, 2.0)),
            transport=transport,
        )

    def whoami(self) -> WhoAmI:
        return self._get("/whoami", WhoAmI)

    def status(self) -> FleetStatus:
        return self._get("/status", FleetStatus)

    def views(self, engine_id: str, since_s: float | None, limit: int) -> ViewSeries:
        """Newest V_short of one engine after ``since_s``, oldest first."""
        query: dict[str, Any] = {"horizon": "short", "limit": limit}
        if since_s is not None:
            query["since"] = since_s
        return self._get(f"/engines/{_segment(engine_id)}/views", ViewSeries, query)

    def decisions(self, limit: int) -> list[DecisionOut]:
        return self._get("/decisions", list[DecisionOut], {"limit": limit})

    def guards(self, limit: int) -> list[GuardEventOut]:
        return self._get("/guards", list[GuardEventOut], {"limit": limit})

    def topologies(self) -> list[TopologyOut]:
        return self._get("/topologies", list[TopologyOut])

    def health(self) -> HealthOut:
        return self._get("/health", HealthOut)

    def apply(self, request: OverrideRequest) -> OverrideChange:
        """Pin, fix controls or bypass, by the kind of request."""
        body = request.model_dump(mode="json", exclude_none=True)
        return self._call("POST", _ROUTES[_KINDS[type(request)]], OverrideChange, body=body)

    def cancel(self, kind: OverrideKind, override_id: str) -> OverrideChange:
        return self._call("DELETE", f"{_ROUTES[kind]}/{_segment(override_id)}", OverrideChange)

    def close(self) -> None:
        self._http.close()

    def _get(self, path: str, kind: type[T], query: Mapping[str, Any] | None = None) -> T:
        return self._call("GET", path, kind, query=query)

    def _call(
        self,
        method: str,
        path: str,
        kind: type[T],
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
    ) -> T:
        try:
            response = self._http.request(method, path, params=query, json=body)
        except httpx.TimeoutException as error:
            raise UnreachableError(f"{self._url} did not answer in time") from error
        except (httpx.TransportError, httpx.InvalidURL) as error:
            raise UnreachableError(f"{self._url} cannot be reached ({error})") from error
        if response.is_success:
            return self._parsed(response, kind)
        raise _refusal(response)

    def _parsed(self, response: httpx.Response, kind: type[T]) -> T:
        try:
            return TypeAdapter(kind).validate_json(response.content)
        except ValidationError as error:
            raise UnreachableError(
                f"{self._url} answers, but not as this console expects (other version?)"
            ) from error


def _segment(text: str) -> str:
    """``text`` as one segment of a path."""
    return quote(text, safe="")


def _refusal(response: httpx.Response) -> ApiError:
    detail = _detail(response)
    if detail is None:
        return UnreachableError(f"the admin API answered {response.status_code} without saying why")
    if response.status_code in {401, 403}:
        return TokenError(detail.message)
    return RefusedError(response.status_code, detail)


def _detail(response: httpx.Response) -> ErrorDetail | None:
    try:
        return ErrorOut.model_validate_json(response.content).error
    except ValidationError:
        return None
