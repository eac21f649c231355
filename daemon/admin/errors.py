"""Every error of the API in one form: what is wrong, in which field, and the fix."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from hmas.daemon.admin.port import (
    InvalidInputError,
    PortError,
    RevisionConflictError,
    UnavailableError,
    UnknownThingError,
)
from hmas.daemon.wire import ErrorCode, ErrorDetail, ErrorOut, ProblemOut

log = logging.getLogger(__name__)

_PORT_ERRORS: Mapping[type[PortError], tuple[HTTPStatus, ErrorCode]] = {
    InvalidInputError: (HTTPStatus.UNPROCESSABLE_ENTITY, ErrorCode.INVALID),
    UnknownThingError: (HTTPStatus.NOT_FOUND, ErrorCode.NOT_FOUND),
    RevisionConflictError: (HTTPStatus.CONFLICT, ErrorCode.CONFLICT),
    UnavailableError: (HTTPStatus.SERVICE_UNAVAILABLE, ErrorCode.UNAVAILABLE),
}
_HTTP_ERRORS: Mapping[int, ErrorCode] = {
    401: ErrorCode.UNAUTHENTICATED,
    403: ErrorCode.FORBIDDEN,
    404: ErrorCode.NOT_FOUND,
    405: ErrorCode.INVALID,
    413: ErrorCode.INVALID,
    415: ErrorCode.INVALID,
    503: ErrorCode.UNAVAILABLE,
}
_FIXES: Mapping[str, str] = {
    "missing": "add this field",
    "extra_forbidden": "remove this field, the API does not know it",
    "json_invalid": "send one valid JSON object",
    "string_too_short": "write a little more",
    "string_too_long": "shorten it",
    "int_parsing": "send a whole number",
    "int_from_float": "send a whole number",
    "float_parsing": "send a number",
    "finite_number": "send a finite number",
}


def error_response(
    status: int,
    code: ErrorCode,
    message: str,
    problems: Iterable[ProblemOut] = (),
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    detail = ErrorDetail(code=code, message=message, problems=tuple(problems))
    body = ErrorOut(error=detail).model_dump(mode="json")
    return JSONResponse(body, status_code=status, headers=dict(headers or {}))


def problem_of(error: Mapping[str, Any]) -> ProblemOut:
    """One pydantic error in our words."""
    path = error["loc"][:1] if error["type"] == "json_invalid" else error["loc"][1:]
    where = [str(part) for part in path]
    fix = _FIXES.get(str(error["type"]), "")
    message = str(error["msg"]).removeprefix("Value error, ")
    return ProblemOut(field=".".join(where) or str(error["loc"][0]), message=message, fix=fix)


async def _on_invalid(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    problems = [problem_of(found) for found in error.errors()]
    message = "; ".join(f"{problem.field}: {problem.message}" for problem in problems)
    return error_response(422, ErrorCode.INVALID, message, problems)


async def _on_port_error(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, PortError)
    kinds = (entry for kind, entry in _PORT_ERRORS.items() if isinstance(error, kind))
    status, code = next(kinds, (HTTPStatus.INTERNAL_SERVER_ERROR, ErrorCode.INTERNAL))
    problems = (
        [ProblemOut(field=error.field, message=error.message, fix=error.fix)] if error.field else []
    )
    headers = {"Retry-After": "5"} if status is HTTPStatus.SERVICE_UNAVAILABLE else None
    return error_response(status, code, error.message, problems, headers)


async def _on_http_error(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    if error.status_code == HTTPStatus.BAD_REQUEST:
        problem = ProblemOut(
            field="body", message="the body cannot be read", fix="send one JSON object in UTF-8"
        )
        return error_response(422, ErrorCode.INVALID, problem.message, [problem])
    code = _HTTP_ERRORS.get(error.status_code, ErrorCode.INTERNAL)
    return error_response(error.status_code, code, str(error.detail), headers=error.headers)


async def _on_crash(request: Request, error: Exception) -> JSONResponse:
    log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return error_response(500, ErrorCode.INTERNAL, "the daemon failed to answer; its log says why")


def install_error_handlers(app: FastAPI) -> None:
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(PortError, _on_port_error)
    app.add_exception_handler(HTTPException, _on_http_error)
    app.add_exception_handler(Exception, _on_crash)
