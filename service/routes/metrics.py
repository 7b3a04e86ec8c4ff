"""`GET /metrics`: of this process, or of all of them where a supervisor gathers them."""

from fastapi import APIRouter
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from starlette.responses import Response

from service.metrics import ApiMetrics
from service.settings import Settings
from service.supervisor.gather import GATHER_TIMEOUT_S, read_socket


async def exposition(settings: Settings, metrics: ApiMetrics) -> bytes:
    """Metrics in the text format; this process's own where no supervisor answers."""
    if settings.metrics_socket is not None:
        try:
            return await read_socket(settings.metrics_socket, timeout_s=2 * GATHER_TIMEOUT_S)
        except (OSError, TimeoutError):
            pass
    return metrics.exposition()


def metrics_routes(settings: Settings, metrics: ApiMetrics) -> APIRouter:
    """The route, over the state of the process."""
    router = APIRouter(tags=["operation"])

    @router.get("/metrics", operation_id="getMetrics", response_class=Response, summary="Metrics for Prometheus")
    async def get_metrics() -> Response:
        """Counters, gauges and histograms in the text format; no label holds a user or an item."""
        return Response(await exposition(settings, metrics), media_type=CONTENT_TYPE_PLAIN_0_0_4)

    return router
