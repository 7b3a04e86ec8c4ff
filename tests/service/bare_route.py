"""What `/recommend` is measured against: routes that answer stored bytes.

One process serves them and the service, so that they share uvicorn, its settings, the core and the moment:
`/bare/recommend` is a FastAPI route that declares the same request model, `/raw/recommend` an ASGI application that
reads the body and does nothing else; everything else goes to the service. `PUT /bare/answer` stores the bytes.
"""

from fastapi import FastAPI, Request, Response
from starlette.types import Receive, Scope, Send

from service.app import create_app
from service.schemas import RecommendRequest


def bare_app(stored: bytearray) -> FastAPI:
    """Two routes, no middleware, everything else as the framework has it."""
    app = FastAPI()

    @app.put("/bare/answer")
    async def store(request: Request) -> Response:
        stored[:] = await request.body()
        return Response(status_code=204)

    @app.post("/bare/recommend")
    async def bare(body: RecommendRequest) -> Response:
        return Response(bytes(stored), media_type="application/json")

    return app


class Raw:
    """ASGI: the stored bytes, whatever was asked.

    Args:
        stored: the bytes.
    """

    def __init__(self, stored: bytearray) -> None:
        self._stored = stored

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body, answer."""
        while (await receive()).get("more_body", False):
            pass
        body = bytes(self._stored)
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


class Both:
    """ASGI: the service and the routes that it is measured against, side by side."""

    def __init__(self) -> None:
        stored = bytearray()
        self.service, self.bare, self.raw = create_app(), bare_app(stored), Raw(stored)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One or two comparisons of the path decide."""
        if scope["type"] == "http":
            if scope["path"].startswith("/bare"):
                return await self.bare(scope, receive, send)
            if scope["path"].startswith("/raw"):
                return await self.raw(scope, receive, send)
        return await self.service(scope, receive, send)
