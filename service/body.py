"""Reading and checking request bodies: media type, size, JSON, model; each failure is a problem of its own status."""

import asyncio
import json
from http import HTTPStatus
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from starlette.types import Receive, Scope

from service.exchange import Exchange, exchange_of
from service.problems import FieldError, ProblemError, ProblemKind, bad_fields, not_json, pointer

JSON_TYPES = frozenset({b"application/json", b"application/json; charset=utf-8", b"application/json;charset=utf-8"})
LISTED_ERRORS = 100
"""Bad fields named one by one; a body with more of them is not worth the time."""

Model = TypeVar("Model", bound=BaseModel)


class ClientGoneError(Exception):
    """The client closed the connection before its request was complete; nobody waits for an answer."""


def _unsupported(detail: str, headers: dict[str, str]) -> ProblemError:
    return ProblemError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, ProblemKind.UNSUPPORTED_MEDIA_TYPE, detail, headers=headers)


def _is_json(content_type: bytes) -> bool:
    media, _, parameters = content_type.partition(b";")
    charset = [p.strip() for p in parameters.split(b";") if p.strip().startswith(b"charset=")]
    return media.strip() == b"application/json" and all(
        c.partition(b"=")[2].strip(b'"') in (b"utf-8", b"utf8", b"us-ascii") for c in charset
    )


def check_media_type(exchange: Exchange) -> None:
    """Only JSON in UTF-8, not compressed.

    Raises:
        ProblemError: 415.
    """
    if exchange.content_encoding not in (b"", b"identity"):
        raise _unsupported("Bodies must not be compressed.", {"accept-encoding": "identity"})
    if exchange.content_type not in JSON_TYPES and not _is_json(exchange.content_type):
        raise _unsupported("The body must be JSON: Content-Type: application/json.", {"accept": "application/json"})


def too_large(limit: int) -> ProblemError:
    """413. The connection stays: what is still on its way is read and dropped, for a client whose connection is closed
    while it sends may never see the answer."""
    return ProblemError(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        ProblemKind.BODY_TOO_LARGE,
        f"A body has at most {limit} bytes.",
    )


async def _chunk(receive: Receive) -> tuple[bytes, bool]:
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ClientGoneError
    return message.get("body", b""), message.get("more_body", False)


async def _rest(receive: Receive, first: bytes, limit: int) -> bytes:
    body, more = bytearray(first), True
    while more:
        chunk, more = await _chunk(receive)
        body += chunk
        if len(body) > limit:
            raise too_large(limit)
    return bytes(body)


async def read_body(receive: Receive, *, limit: int, timeout_s: float) -> bytes:
    """The whole body; the usual one arrives in one piece and costs no timer.

    Raises:
        ProblemError: 413 beyond `limit` bytes, 408 when a body that began does not end within `timeout_s`.
        ClientGoneError: the client left.
    """
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ClientGoneError
    body: bytes = message.get("body", b"")
    if len(body) > limit:
        raise too_large(limit)
    if not message.get("more_body", False):
        return body
    try:
        async with asyncio.timeout(timeout_s):
            return await _rest(receive, body, limit)
    except TimeoutError as error:
        detail = f"The body did not arrive within {timeout_s:g} s."
        raise ProblemError(
            HTTPStatus.REQUEST_TIMEOUT, ProblemKind.BODY_TIMEOUT, detail, headers={"connection": "close"}
        ) from error


def _explain(error: ValidationError) -> ProblemError:
    if error.error_count() > LISTED_ERRORS:
        return bad_fields([FieldError(f"{error.error_count()} fields are not valid, too many to list", "#")])
    found = error.errors(include_url=False, include_context=False, include_input=False)
    if found[0]["type"] == "json_invalid":
        return not_json(f"The body is not JSON. {found[0]['msg']}")
    return bad_fields([FieldError(one["msg"], pointer(one["loc"])) for one in found])


def parse(model: type[Model], body: bytes) -> Model:
    """The body as a model. A member that is named twice counts with its last value.

    Raises:
        ProblemError: 400 not JSON (NaN and Infinity are not), 422 a bad field.
    """
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        problem = _explain(error)
        if problem.kind is ProblemKind.BAD_FIELD:
            _require_json(body)
        raise problem from None


def _refuse_constant(name: str) -> None:
    raise not_json(f"The body is not JSON. {name} is no JSON number")


def _require_json(body: bytes) -> None:
    """Pydantic lets NaN and Infinity through as numbers; they are not JSON, and the answer should say so."""
    json.loads(body, parse_constant=_refuse_constant)


async def read_model(model: type[Model], scope: Scope, receive: Receive, *, limit: int, timeout_s: float) -> Model:
    """Media type, body and model in one step, for any route that takes a JSON body.

    Raises:
        ProblemError: 400, 408, 413, 415 or 422.
        ClientGoneError: the client left.
    """
    check_media_type(exchange_of(scope))
    return parse(model, await read_body(receive, limit=limit, timeout_s=timeout_s))
