"""Errors of the framework, turned into problem documents."""

from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import iter_route_contexts
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import compile_path

from service.edge import internal
from service.exchange import exchange_of
from service.problems import FieldError, ProblemError, ProblemKind, bad_fields, pointer

KINDS = {
    HTTPStatus.BAD_REQUEST: ProblemKind.BAD_REQUEST,
    HTTPStatus.NOT_FOUND: ProblemKind.NOT_FOUND,
    HTTPStatus.METHOD_NOT_ALLOWED: ProblemKind.METHOD_NOT_ALLOWED,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: ProblemKind.BODY_TOO_LARGE,
}
DETAILS = {
    HTTPStatus.NOT_FOUND: "There is nothing at this path.",
    HTTPStatus.METHOD_NOT_ALLOWED: "The path does not know this method; the Allow header says which it knows.",
}


def _render(request: Request, problem: ProblemError) -> Response:
    return problem.response(exchange_of(request.scope).request_id)


async def _http_error(request: Request, error: Exception) -> Response:
    if isinstance(error, ProblemError):
        return _render(request, error)
    if not isinstance(error, HTTPException):
        raise TypeError(f"not an HTTP error: {error!r}")
    status = HTTPStatus(error.status_code)
    kind = KINDS.get(status, ProblemKind.BAD_REQUEST)
    detail = DETAILS.get(status, str(error.detail))
    headers = _allowed(request) if status is HTTPStatus.METHOD_NOT_ALLOWED else error.headers
    return _render(request, ProblemError(status, kind, detail, headers=headers))


def _allowed(request: Request) -> dict[str, str]:
    """`Allow` with the methods of every route of the path; the framework names those of the first one only.

    A path that is written out counts before one with a parameter that would fit too, as in the OpenAPI document.
    """
    path: str = request.scope["path"]
    known = [(route.path, route.methods or set()) for route in iter_route_contexts(request.app.routes) if route.path]
    found = [methods for template, methods in known if template == path]
    found = found or [methods for template, methods in known if compile_path(template)[0].match(path)]
    return {"allow": ", ".join(sorted(set().union(*found)))}


def _field(error: dict[str, Any]) -> FieldError:
    place, *path = error["loc"]
    if place == "body":
        return FieldError(error["msg"], pointer=pointer(path))
    return FieldError(error["msg"], parameter=str(path[0]))


async def _invalid(request: Request, error: Exception) -> Response:
    if not isinstance(error, RequestValidationError):
        raise TypeError(f"not a validation error: {error!r}")
    return _render(request, bad_fields([_field(one) for one in error.errors()]))


async def _unexpected(request: Request, _: Exception) -> Response:
    return _render(request, internal())


def handle_failures(app: FastAPI) -> None:
    """Every error that the framework raises is answered as a problem; an unexpected one is logged by the edge."""
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(Exception, _unexpected)
