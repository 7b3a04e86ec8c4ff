"""`GET /healthz` (the process) and `GET /readyz` (a bundle is loaded and warm)."""

from typing import Any

import orjson
from fastapi import APIRouter
from starlette.responses import Response

from service.answers import HealthAnswer, ReadyAnswer
from service.routes.documented import problems
from service.runtime import Runtime

NO_STORE = {"cache-control": "no-store"}


def _json(document: Any) -> Response:
    return Response(orjson.dumps(document), media_type="application/json", headers=NO_STORE)


def health_routes(runtime: Runtime) -> APIRouter:
    """The routes, over the state of the process."""
    router = APIRouter(tags=["health"])

    @router.get("/healthz", operation_id="getHealth", response_model=HealthAnswer, summary="The process answers")
    async def get_health() -> Response:
        """200 as long as the process runs its event loop, with or without a bundle."""
        return _json({"status": "ok"})

    @router.get(
        "/readyz",
        operation_id="getReadiness",
        response_model=ReadyAnswer,
        responses=problems(503),
        summary="A bundle is loaded and warm",
    )
    async def get_readiness() -> Response:
        """200 when `/recommend` will answer; 503 until then. Why a bundle was refused stands in the log."""
        engine = runtime.require_engine()
        ready = {
            "status": "ready",
            "bundle": engine.version,
            "n_items": engine.bundle.n_items,
            "retrievers": [name.value for name in engine.serves()],
        }
        return _json(ready)

    return router
