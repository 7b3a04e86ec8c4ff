"""A service that fails in every way a client must cope with; each path is one way."""

import asyncio
import json
import socket
import threading
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

ANSWER = {
    "request_id": "r1",
    "user_id": None,
    "retriever": {"assigned": "tgh-2", "served": "tgh-2", "fallback_reason": None},
    "experiment": None,
    "items": [{"item_id": "a", "rank": 1, "score": 0.5, "source": "hop1", "colour": "a field of a newer service"}],
    "exact": None,
    "unknown_items": [],
    "bundle": "v1",
    "took_ms": 1.0,
}
PROBLEM = {"title": "Unprocessable Content", "status": 422, "detail": "1 field is not valid: k", "errors": []}


class Faulty:
    """`POST /{fault}/recommend` and `POST /{fault}/events`.

    Attributes:
        asked: number of requests by fault.
        bodies: bodies received by fault.
        keys: authorization headers by fault.
    """

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.bodies: dict[str, list[object]] = {}
        self.keys: dict[str, str | None] = {}
        paths = ("/{fault}/recommend", "/{fault}/events")
        self.app = Starlette(routes=[Route(path, self.answer, methods=["POST"]) for path in paths])

    async def answer(self, request: Request) -> Response:
        fault = request.path_params["fault"]
        self.asked[fault] += 1
        self.bodies.setdefault(fault, []).append(json.loads(await request.body()))
        self.keys[fault] = request.headers.get("authorization")
        kind = fault.split("_")[0]
        if kind == "busy" and self.asked[fault] == 1:
            return JSONResponse({"title": "busy", "status": 503}, 503, {"retry-after": "0"})
        if kind == "silent":
            await _until_gone(request)
        replies = {
            "away": lambda: JSONResponse({"title": "away", "status": 503}, 503, {"retry-after": "30"}),
            "wrong": lambda: JSONResponse(PROBLEM, 422, media_type="application/problem+json"),
            "proxy": lambda: PlainTextResponse("<html>bad gateway</html>", 502),
            "garbled": lambda: PlainTextResponse("<html>hello</html>"),
            "trickle": lambda: StreamingResponse(_trickle(), media_type="application/json"),
        }
        return replies.get(kind, lambda: JSONResponse(ANSWER))()


async def _until_gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _trickle() -> AsyncIterator[bytes]:
    """Never silent for long, never finished: a timeout for each read alone would wait for ever."""
    while True:
        yield b" "
        await asyncio.sleep(0.02)


@contextmanager
def serving(app: ASGIApp) -> Iterator[str]:
    """Run an application on a free port in a thread; gives its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_config=None, ws="none", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def closed_port() -> str:
    """An address where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


@contextmanager
def reading_late(late_s: float) -> Iterator[str]:
    """A server that starts to read a request after `late_s` seconds, reads all of it, and never answers."""
    over = threading.Event()

    def serve(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            over.wait(late_s)
            connection.settimeout(0.05)
            while not over.is_set():
                with suppress(TimeoutError):
                    if not connection.recv(1 << 20):
                        return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            over.set()
            thread.join()
