"""The outermost layer: request ids, size limits, percent-encoded ids, and every error as a problem document.

Pure ASGI, one frame a request, because it stands before everything that has to be fast.
"""

import time
from collections.abc import Mapping
from http import HTTPStatus
from typing import Protocol
from urllib.parse import unquote_to_bytes

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.body import ClientGoneError, too_large
from service.exchange import SCOPE_KEY, Exchange, open_exchange
from service.headers import completed
from service.problems import ProblemError, ProblemKind

log = structlog.get_logger(__name__)


class ExchangeObserver(Protocol):
    """Told of every finished exchange."""

    def __call__(self, scope: Scope, exchange: Exchange, seconds: float) -> None:
        """Take note; must not raise."""
        ...


class Gate(Protocol):
    """Decides before any work whether a request may pass (rate limits, keys)."""

    def __call__(self, scope: Scope) -> None:
        """Raises a ProblemError when it may not."""
        ...


def keep_encoded(scope: Scope) -> None:
    """Let routes see the path as it was sent, so that an id may hold `/`; the `segment` convertor decodes each part.

    Raises:
        ProblemError: 400, the path does not decode to UTF-8.
    """
    raw: bytes = scope.get("raw_path") or b""
    if b"%" not in raw:
        return
    try:
        unquote_to_bytes(raw).decode()
    except UnicodeDecodeError:
        detail = "The path does not decode to UTF-8."
        raise ProblemError(HTTPStatus.BAD_REQUEST, ProblemKind.BAD_REQUEST, detail) from None
    scope["path"] = raw.decode("ascii", "replace")


class CountedBody:
    """A `receive` that refuses bodies beyond a limit whose length was not announced."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive, self._limit, self._seen = receive, limit, 0

    async def __call__(self) -> Message:
        """The next message.

        Raises:
            ProblemError: 413.
        """
        message = await self._receive()
        self._seen += len(message.get("body", b""))
        if self._seen > self._limit:
            raise too_large(self._limit)
        return message


class Edge:
    """ASGI application around the service.

    Args:
        app: what answers.
        direct: what answers a POST to exactly that path before `app` is asked.
        max_body_bytes: largest body.
        gates: asked in turn before `app`.
        observers: told of each finished exchange.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        direct: Mapping[str, ASGIApp],
        max_body_bytes: int,
        gates: tuple[Gate, ...] = (),
        observers: tuple[ExchangeObserver, ...] = (),
    ) -> None:
        self._app, self._direct, self._limit = app, direct, max_body_bytes
        self._gates, self._observers = gates, observers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one connection event."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = open_exchange(scope["headers"])
        scope[SCOPE_KEY] = exchange
        request_id = (b"x-request-id", exchange.request_id.encode())

        async def reply(message: Message) -> None:
            if message["type"] == "http.response.start":
                exchange.status = message["status"]
                message["headers"] = completed(message["headers"], request_id)
            await send(message)

        try:
            await self._answer(scope, receive, reply, exchange)
        finally:
            for observe in self._observers:
                observe(scope, exchange, time.monotonic() - exchange.started)

    async def _answer(self, scope: Scope, receive: Receive, reply: Send, exchange: Exchange) -> None:
        try:
            if exchange.content_length is None:
                receive = CountedBody(receive, self._limit)
            elif not 0 <= exchange.content_length <= self._limit:
                raise too_large(self._limit)
            keep_encoded(scope)
            for gate in self._gates:
                gate(scope)
            chosen = self._direct.get(scope["path"], self._app) if scope["method"] == "POST" else self._app
            await chosen(scope, receive, reply)
        except ProblemError as problem:
            await self._refuse(problem, scope, receive, reply, exchange)
        except ClientGoneError:
            log.debug("client left", request_id=exchange.request_id)
        except Exception:
            log.exception("request failed", request_id=exchange.request_id, path=scope["path"])
            await self._refuse(internal(), scope, receive, reply, exchange)

    @staticmethod
    async def _refuse(problem: ProblemError, scope: Scope, receive: Receive, reply: Send, exchange: Exchange) -> None:
        if exchange.status == 0:
            await problem.response(exchange.request_id)(scope, receive, reply)


def internal() -> ProblemError:
    """500, for faults of ours: says nothing but the request id."""
    detail = "The service failed to answer; the request id finds the reason in its log."
    return ProblemError(HTTPStatus.INTERNAL_SERVER_ERROR, ProblemKind.INTERNAL, detail)
