"""What `/recommend` is measured against: a FastAPI route that declares the same request model and answers stored bytes.

One process serves both, so that they share uvicorn, its settings, the core and the moment: `/bare/...` goes to the bare
application, everything else to the service. `PUT /bare/answer` stores the bytes.
"""

from fastapi import FastAPI, Request, Response
from starlette.types import Receive, Scope, Send

from service.app import create_app
from service.schemas import RecommendRequest


def bare_app() -> FastAPI:
    """Two routes, no middleware, everything else as the framework has it."""
    app = FastAPI()
    stored = bytearray()

    @app.put("/bare/answer")
    async def store(request: Request) -> Response:
        stored[:] = await request.body()
        return Response(status_code=204)

    @app.post("/bare/recommend")
    async def bare(body: RecommendRequest) -> Response:
        return Response(bytes(stored), media_type="application/json")

    return app


class Both:
    """ASGI: the service and the bare application side by side."""

    def __init__(self) -> None:
        self.service, self.bare = create_app(), bare_app()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One comparison of the path decides."""
        chosen = self.bare if scope["type"] == "http" and scope["path"].startswith("/bare") else self.service
        await chosen(scope, receive, send)
