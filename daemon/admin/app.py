"""The admin API: one FastAPI application over a :class:`.port.ControlPort`."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

import hmas
from hmas.daemon.admin import probes, reads, writes
from hmas.daemon.admin.auth import TokenBook
from hmas.daemon.admin.edge import Edge
from hmas.daemon.admin.errors import install_error_handlers
from hmas.daemon.admin.port import ControlPort
from hmas.daemon.admin.settings import AdminSettings
from hmas.daemon.wire import ErrorOut

PREFIX = "/hmas/v1"

DESCRIPTION = """\
What the fleet runs, who set it and why, and the operator's overrides.

Send `Authorization: Bearer TOKEN`. Tokens with role *viewer* look, *operator* also act. Times
end in `_s` and are Unix seconds; `null` means not measured. Errors always have the form
`{"error": {"code", "message", "problems": [{"field", "message", "fix"}]}}`. A write may carry
the `ETag` of `/overrides` as `If-Match` (or `expected_revision`): it is refused with 409 when
somebody else wrote in between.
"""

COMMON_ERRORS: dict[int | str, dict[str, Any]] = {
    401: {"model": ErrorOut, "description": "no token, or one that is not known"},
    422: {"model": ErrorOut, "description": "an input is wrong; every problem names its field"},
    503: {"model": ErrorOut, "description": "the daemon cannot answer now"},
}
BODY_ERRORS: dict[int | str, dict[str, Any]] = {
    413: {"model": ErrorOut, "description": "the body is larger than 64 KiB"},
}


def create_app(port: ControlPort, settings: AdminSettings) -> FastAPI:
    """The application; serve it with :class:`.server.AdminServer`.

    Raises:
        TokenFileError: a token's file cannot be read.
    """
    app = FastAPI(
        title="H-MAS admin API",
        version=hmas.__version__,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
    )
    app.state.port = port
    app.state.settings = settings
    app.state.tokens = TokenBook(settings.tokens)
    app.include_router(reads.router, prefix=PREFIX, responses=COMMON_ERRORS)
    app.include_router(writes.router, prefix=PREFIX, responses=COMMON_ERRORS | BODY_ERRORS)
    app.include_router(probes.router)
    install_error_handlers(app)
    app.add_middleware(Edge, loopback_only=app.state.tokens.is_open)
    return app
