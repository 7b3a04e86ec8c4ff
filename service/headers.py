"""Security headers on pages, and the list of origins whose pages may call the API."""

from collections.abc import Sequence

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from service.settings import Settings

Header = tuple[bytes, bytes]
JSON: Header = (b"content-type", b"application/json")
"""Our own JSON answers set none of the headers below, so they are spared the search."""
EVERYWHERE = ((b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer"))
ON_PAGES = ((b"x-frame-options", b"DENY"), (b"cross-origin-opener-policy", b"same-origin"))
PREFLIGHT_S = 600


def completed(headers: Sequence[Header], request_id: Header) -> list[Header]:
    """Headers of an answer with its request id and what every answer, and every HTML answer, should carry."""
    if JSON in headers:
        return [*headers, request_id, *EVERYWHERE]
    present = {name.lower() for name, _ in headers}
    page = any(name.lower() == b"content-type" and value.startswith(b"text/html") for name, value in headers)
    wanted = (*EVERYWHERE, *ON_PAGES) if page else EVERYWHERE
    return [*headers, request_id, *(header for header in wanted if header[0] not in present)]


def guarded(app: ASGIApp, settings: Settings) -> ASGIApp:
    """The application, with CORS where origins are configured."""
    if not settings.cors_origins:
        return app
    return CORSMiddleware(
        app,
        allow_origins=settings.cors_origins,
        allow_methods=("GET", "POST", "PUT", "DELETE"),
        allow_headers=("authorization", "content-type", "x-api-key", "x-request-id"),
        expose_headers=("retry-after", "server-timing", "x-request-id"),
        max_age=PREFLIGHT_S,
    )
