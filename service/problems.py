"""Errors as callers see them: RFC 9457 `application/problem+json`, one class, one place that renders it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import orjson
from starlette.exceptions import HTTPException
from starlette.responses import Response

from models.words import FallbackReason

MEDIA_TYPE = "application/problem+json"


class ProblemKind(StrEnum):
    """The closed set of problem types; on the wire `urn:shortlist:problem:<kind>`."""

    NOT_JSON = "not-json"
    BAD_REQUEST = "bad-request"
    BAD_FIELD = "bad-field"
    UNAUTHORISED = "unauthorised"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not-found"
    UNKNOWN_ITEM = "unknown-item"
    UNKNOWN_RETRIEVER = "unknown-retriever"
    METHOD_NOT_ALLOWED = "method-not-allowed"
    BODY_TIMEOUT = "body-timeout"
    CONFLICT = "conflict"
    BODY_TOO_LARGE = "body-too-large"
    UNSUPPORTED_MEDIA_TYPE = "unsupported-media-type"
    TOO_MANY_REQUESTS = "too-many-requests"
    INTERNAL = "internal"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class FieldError:
    """One bad field.

    Attributes:
        detail: what is wrong with it.
        pointer: JSON pointer into the body as a URI fragment (`#/history/3`), or None.
        parameter: name of a query or path parameter, or None.
    """

    detail: str
    pointer: str | None = None
    parameter: str | None = None

    def document(self) -> dict[str, str]:
        """The members that are set."""
        members = {"detail": self.detail, "pointer": self.pointer, "parameter": self.parameter}
        return {name: value for name, value in members.items() if value is not None}


def pointer(path: Iterable[str | int]) -> str:
    """JSON pointer (RFC 6901, URI fragment form) of a path into a body.

    >>> pointer(["history", 3]), pointer([]), pointer(["a/b~ %"])
    ('#/history/3', '#', '#/a~1b~0%20%25')
    """
    steps = (str(step).replace("~", "~0").replace("/", "~1") for step in path)
    return "#" + "".join("/" + quote(step, safe="~", errors="replace") for step in steps)


class ProblemError(HTTPException):
    """An answer that is not what the caller asked for; raised anywhere, rendered once.

    Args:
        status: HTTP status.
        kind: problem type.
        detail: a sentence for a person: what was found, what was expected.
        errors: bad fields.
        reason: why no fallback answered (503).
        headers: further response headers, lower case.
    """

    def __init__(
        self,
        status: HTTPStatus,
        kind: ProblemKind,
        detail: str,
        *,
        errors: Sequence[FieldError] = (),
        reason: FallbackReason | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status.value, detail, dict(headers or {}))
        self.status, self.kind = status, kind
        self.errors, self.reason = tuple(errors), reason

    def document(self, request_id: str) -> dict[str, Any]:
        """The problem document."""
        members: dict[str, Any] = {
            "type": f"urn:shortlist:problem:{self.kind}",
            "title": self.status.phrase,
            "status": self.status.value,
            "detail": self.detail,
            "request_id": request_id,
        }
        if self.errors:
            members["errors"] = [error.document() for error in self.errors]
        if self.reason is not None:
            members["reason"] = self.reason
        return members

    def response(self, request_id: str) -> Response:
        """The whole answer."""
        return Response(
            orjson.dumps(self.document(request_id)),
            status_code=self.status.value,
            media_type=MEDIA_TYPE,
            headers={"cache-control": "no-store", **(self.headers or {})},
        )


def bad_fields(errors: Sequence[FieldError]) -> ProblemError:
    """422: the request is well-formed, but fields of it are not what they must be."""
    noun = "field is" if len(errors) == 1 else "fields are"
    detail = f"{len(errors)} {noun} not valid: {errors[0].detail}"
    return ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, ProblemKind.BAD_FIELD, detail, errors=errors)


def not_json(detail: str) -> ProblemError:
    """400: the body is not JSON."""
    return ProblemError(HTTPStatus.BAD_REQUEST, ProblemKind.NOT_JSON, detail)


def unavailable(detail: str, *, reason: FallbackReason, retry_after_s: int = 1) -> ProblemError:
    """503 with `Retry-After`."""
    return ProblemError(
        HTTPStatus.SERVICE_UNAVAILABLE,
        ProblemKind.UNAVAILABLE,
        detail,
        reason=reason,
        headers={"retry-after": str(retry_after_s)},
    )


def unknown_item() -> ProblemError:
    """404: the served bundle has no such item."""
    return ProblemError(HTTPStatus.NOT_FOUND, ProblemKind.UNKNOWN_ITEM, "The served bundle holds no item of this id.")
