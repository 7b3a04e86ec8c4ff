"""The application factory."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version

import structlog
from fastapi import FastAPI
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from models.words import RetrieverName
from service.access import Access, separate_doors
from service.breaker import BreakerState
from service.edge import Edge
from service.exchange import Exchange
from service.failures import handle_failures
from service.headers import guarded
from service.live.live import Live
from service.metrics import ApiMetrics
from service.openapi import document_app
from service.page.routes import page_routes
from service.rate import RateGate
from service.routes import segment
from service.routes.admin import admin_routes
from service.routes.docs import add_docs
from service.routes.experiments import experiment_routes
from service.routes.health import health_routes
from service.routes.items import item_routes
from service.routes.live import live_routes
from service.routes.metrics import metrics_routes
from service.routes.recommend import Recommend, RecommendNamed
from service.runtime import Runtime
from service.settings import Settings
from service.tracing import traced

PREFIXES = ("", "/v1")
log = structlog.get_logger(__name__)


def log_access(scope: Scope, exchange: Exchange, seconds: float) -> None:
    """One line a request; no user and no item in it."""
    log.info(
        "request",
        request_id=exchange.request_id,
        method=scope["method"],
        route=exchange.route or scope["path"],
        status=exchange.status,
        took_ms=round(seconds * 1e3, 3),
    )


class Service:
    """The whole service as one ASGI application: the edge around the framework.

    Args:
        settings: all settings.

    Attributes:
        runtime: its state.
        framework: FastAPI, which routes and documents.
    """

    def __init__(self, settings: Settings) -> None:
        self.runtime = Runtime(settings)
        self.metrics = ApiMetrics()
        self.live = None if settings.redis_url is None else Live(settings, self.metrics.drop)
        if settings.admin_port is not None:
            self.runtime.gates.append(separate_doors)
        self.runtime.gates.append(Access.of(settings))
        self.runtime.observers.append(self.metrics.observe)
        self.runtime.on_engine.append(self.metrics.engine_comes)
        self.runtime.on_swap.append(self.metrics.engine_serves)
        self.runtime.on_refusal.append(self.metrics.refused.inc)
        self.metrics.samplers.append(self._sample)
        if self.live is not None:
            self.live.join(self.runtime)
        if settings.access_log:
            self.runtime.observers.append(log_access)
        if settings.rate_limit_per_s > 0:
            self.runtime.gates.append(RateGate(settings.rate_limit_per_s, settings.rate_burst))
        self._direct = recommend_paths(self.runtime)
        self.framework = _framework(self)
        self._edge: ASGIApp | None = None

    @property
    def direct(self) -> Mapping[str, ASGIApp]:
        """What answers a POST to exactly that path before the framework is asked."""
        return self._direct

    def _sample(self) -> None:
        self.metrics.in_flight.set(self.runtime.chain.pool.admitted)
        if self.runtime.settings.remote_bundles is not None:
            self.metrics.mirror.look(self.runtime.settings.bundles)
        if self.live is not None:
            for resource, breaker in self.live.breakers().items():
                self.metrics.breakers.labels(resource).set(breaker.state is not BreakerState.CLOSED)

    async def start(self) -> None:
        """Connect, load the bundle, watch for the next."""
        if self.live is not None:
            await self.live.start()
        await self.runtime.start()

    async def stop(self) -> None:
        """Write what waits and close what is open; requests were finished before."""
        await self.runtime.shutdown()
        if self.live is not None:
            await self.live.stop()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI. The edge is built on first use, when gates and observers are complete."""
        if self._edge is None:
            self._edge = self._build_edge()
        await self._edge(scope, receive, send)

    def _build_edge(self) -> ASGIApp:
        runtime = self.runtime
        edge = Edge(
            self.framework,
            direct=self._direct,
            max_body_bytes=runtime.settings.max_body_bytes,
            gates=tuple(runtime.gates),
            observers=tuple(runtime.observers),
        )
        outer = guarded(edge, runtime.settings)
        return traced(outer) if runtime.settings.tracing else outer


def recommend_paths(runtime: Runtime) -> dict[str, ASGIApp]:
    """Paths that answer before the framework is asked: each retriever's and that of `auto`, plain and versioned."""
    endpoints: dict[str, ASGIApp] = {"/recommend": Recommend(runtime)}
    endpoints |= {f"/recommend/{name}": Recommend(runtime, name) for name in RetrieverName}
    return {f"{prefix}{path}": endpoint for prefix in PREFIXES for path, endpoint in endpoints.items()}


def _framework(service: Service) -> FastAPI:
    runtime, direct = service.runtime, service.direct
    docs = runtime.settings.docs

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await service.start()
        yield
        await service.stop()

    app = FastAPI(
        title="Shortlist",
        version=version("shortlist"),
        summary="Candidate generation for a storefront.",
        lifespan=lifespan,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False},  # its spans hold whole paths, and so users' ids
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json" if docs else None,
    )
    named = RecommendNamed({name: direct[f"/recommend/{name}"] for name in RetrieverName})
    for prefix in PREFIXES:
        app.router.routes.append(Route(f"{prefix}/recommend", direct["/recommend"], methods=["POST"]))
        app.router.routes.append(Route(f"{prefix}/recommend/{{retriever:{segment.NAME}}}", named, methods=["POST"]))
    app.include_router(health_routes(runtime))
    app.include_router(live_routes(runtime, service.live))
    app.include_router(experiment_routes(service.live))
    app.include_router(item_routes(runtime))
    app.include_router(admin_routes(runtime, service.live))
    app.include_router(metrics_routes(runtime.settings, service.metrics))
    if docs:
        add_docs(app)
    if runtime.settings.page:
        app.router.routes.extend(page_routes())
    handle_failures(app)
    document_app(app)
    return app


def create_app(settings: Settings | None = None) -> Service:
    """The service; without settings those of the environment (`SHORTLIST_*`)."""
    return Service(settings or Settings())
