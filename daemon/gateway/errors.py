"""Every refusal of the gateway, in the OpenAI error form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from hmas.engine.events import ShedReason

DROPPED_REASON_HEADER: Final = "x-hmas-dropped-reason"

_encoder = msgspec.json.Encoder()


class ApiError(Exception):
    """An answer that is not the engine's: status, OpenAI error body, extra headers."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = "invalid_request_error",
        code: str | None = None,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
        shed: ShedReason | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.kind = kind
        self.code = code
        self.param = param
        self.headers = dict(headers or {})
        self.shed = shed
        if shed is not None:
            self.headers[DROPPED_REASON_HEADER] = shed.value

    def body(self) -> bytes:
        """``{"error": {"message", "type", "code", "param"}}``."""
        return _encoder.encode(
            {
                "error": {
                    "message": self.message,
                    "type": self.kind,
                    "code": self.code,
                    "param": self.param,
                }
            }
        )

    def sse_event(self) -> bytes:
        """The same as one server-sent event, for a stream that has already begun."""
        return b"data: " + self.body() + b"\n\n"


def invalid_field(message: str, param: str | None, code: str = "invalid_value") -> ApiError:
    return ApiError(400, message, code=code, param=param)


def missing_field(field: str, wanted: str) -> ApiError:
    return invalid_field(
        f"missing required field `{field}` ({wanted})", field, "missing_required_parameter"
    )


def unauthorized(message: str, code: str) -> ApiError:
    return ApiError(
        401,
        message,
        kind="authentication_error",
        code=code,
        headers={"WWW-Authenticate": 'Bearer realm="hmas"'},
    )


def model_not_found(model: str, known: list[str]) -> ApiError:
    names = ", ".join(f"`{name}`" for name in known) or "none"
    return ApiError(
        404,
        f"the model `{model[:256]}` does not exist; models served here: {names}",
        kind="not_found_error",
        code="model_not_found",
        param="model",
    )


def not_found(path: str) -> ApiError:
    return ApiError(404, f"no route {path[:256]}", kind="not_found_error", code="unknown_url")


def method_not_allowed(method: str, path: str, allowed: str) -> ApiError:
    return ApiError(
        405,
        f"{path[:256]} does not answer {method[:32]}, use {allowed}",
        code="method_not_allowed",
        headers={"Allow": allowed},
    )


def too_large(limit_bytes: int) -> ApiError:
    return ApiError(
        413,
        f"the request body is larger than {limit_bytes} bytes (gateway.max_body_bytes)",
        code="request_too_large",
    )


def saturated(message: str, retry_after_s: int, reason: ShedReason) -> ApiError:
    return ApiError(
        429,
        message,
        kind="rate_limit_error",
        code="rate_limit_exceeded",
        headers={"Retry-After": str(retry_after_s)},
        shed=reason,
    )


def unavailable(message: str, retry_after_s: int, reason: ShedReason) -> ApiError:
    return ApiError(
        503,
        message,
        kind="service_unavailable_error",
        code="service_unavailable",
        headers={"Retry-After": str(retry_after_s)},
        shed=reason,
    )


def engine_failed(message: str) -> ApiError:
    return ApiError(502, message, kind="server_error", code="engine_error")


def internal_error(request_id: str) -> ApiError:
    return ApiError(
        500,
        f"internal error of the gateway; the log has it under request {request_id}",
        kind="server_error",
        code="internal_error",
    )
