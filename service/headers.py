"""Security headers on pages, and the list of origins whose pages may call the API."""

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.settings import Settings

EVERYWHERE = ((b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer"))
ON_PAGES = ((b"x-frame-options", b"DENY"), (b"cross-origin-opener-policy", b"same-origin"))
PREFLIGHT_S = 600


class SecurityHeaders:
    """ASGI middleware that adds what every answer, and what every HTML answer, should carry and does not yet."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one connection event."""

        async def reply(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = _completed(list(message["headers"]))
            await send(message)

        await self._app(scope, receive, reply)


def _completed(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    present = {name.lower() for name, _ in headers}
    page = any(name.lower() == b"content-type" and value.startswith(b"text/html") for name, value in headers)
    wanted = (*EVERYWHERE, *ON_PAGES) if page else EVERYWHERE
    return headers + [header for header in wanted if header[0] not in present]


def guarded(app: ASGIApp, settings: Settings) -> ASGIApp:
    """The application with its headers and, where origins are configured, CORS."""
    with_headers = SecurityHeaders(app)
    if not settings.cors_origins:
        return with_headers
    return CORSMiddleware(
        with_headers,
        allow_origins=settings.cors_origins,
        allow_methods=("GET", "POST", "PUT", "DELETE"),
        allow_headers=("authorization", "content-type", "x-api-key", "x-request-id"),
        expose_headers=("retry-after", "server-timing", "x-request-id"),
        max_age=PREFLIGHT_S,
    )
