"""What the routes share: the port, the caller, paging, and the expected revision."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import Depends, Header, HTTPException, Query, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from hmas.daemon.admin.auth import ANONYMOUS, Identity, TokenBook
from hmas.daemon.admin.port import ControlPort, InvalidInputError, PageQuery
from hmas.daemon.wire import Role

bearer = HTTPBearer(auto_error=False, description="a token of `admin.tokens`")


def port_of(request: Request) -> ControlPort:
    return cast(ControlPort, request.app.state.port)


def caller(
    request: Request,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
) -> Identity:
    """Who calls; 401 when nobody we know."""
    book: TokenBook = request.app.state.tokens
    if book.is_open:
        return Identity(ANONYMOUS, Role.OPERATOR)
    identity = book.identify(credentials.credentials) if credentials is not None else None
    if identity is None:
        said = "this token is not known" if credentials else "a token is needed"
        raise HTTPException(
            401,
            f"{said}: send 'Authorization: Bearer TOKEN' with a token of admin.tokens",
            headers={"WWW-Authenticate": 'Bearer realm="hmas"'},
        )
    return identity


Caller = Annotated[Identity, Depends(caller)]


def operator(identity: Caller) -> Identity:
    """A caller who may change things; 403 for viewers."""
    if identity.role is not Role.OPERATOR:
        raise HTTPException(
            403,
            f"{identity.name} may only look: changing things takes a token with role operator",
        )
    return identity


def page(
    engine_id: Annotated[str | None, Query(max_length=256, description="only this engine")] = None,
    limit: Annotated[int, Query(ge=1, le=1000, description="newest rows to return")] = 100,
    since_s: Annotated[float | None, Query(description="only rows after this time")] = None,
    before_s: Annotated[float | None, Query(description="only rows before this time")] = None,
) -> PageQuery:
    return PageQuery(engine_id=engine_id, limit=limit, since_s=since_s, before_s=before_s)


def expected_revision(
    if_match: Annotated[
        str | None,
        Header(description='ETag of the overrides last read, like "7"', max_length=32),
    ] = None,
) -> int | None:
    """``If-Match`` as a revision; None: write whatever happened since."""
    if if_match is None or if_match.strip() == "*":
        return None
    text = if_match.strip().removeprefix("W/").strip('"')
    if not (text.isascii() and text.isdigit()):
        raise InvalidInputError(
            f"If-Match is {if_match!r}, not a revision",
            field="If-Match",
            fix="send the ETag of GET /hmas/v1/overrides",
        )
    return int(text)


def merged_revision(from_header: int | None, from_input: int | None) -> int | None:
    """One expected revision of the two ways to give it.

    Raises:
        InvalidInputError: both are given and differ.
    """
    if from_header is not None and from_input is not None and from_header != from_input:
        raise InvalidInputError(
            f"If-Match says {from_header}, expected_revision says {from_input}",
            field="expected_revision",
            fix="send one of them",
        )
    return from_input if from_header is None else from_header


def cancel_revision(
    header: Annotated[int | None, Depends(expected_revision)],
    query: Annotated[
        int | None,
        Query(alias="expected_revision", ge=0, description="the same as If-Match"),
    ] = None,
) -> int | None:
    return merged_revision(header, query)


Port = Annotated[ControlPort, Depends(port_of)]
Operator = Annotated[Identity, Depends(operator)]
Page = Annotated[PageQuery, Depends(page)]
ExpectedRevision = Annotated[int | None, Depends(expected_revision)]
CancelRevision = Annotated[int | None, Depends(cancel_revision)]
