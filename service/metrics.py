"""What an API process counts; no label holds a user or an item."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest
from starlette.types import Scope

from service.engine import Engine
from service.exchange import Exchange
from service.mirror_metrics import MirrorMetrics
from service.ports import Served
from service.timers import Timers

SECONDS = (0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
NONE = ""


class ApiMetrics:
    """One process's counters, in a registry of its own."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry or CollectorRegistry()
        self.requests = Timers(
            "shortlist_request_seconds",
            "Time from a request's headers to the end of its answer.",
            ["route", "retriever", "variant", "status"],
            SECONDS,
        )
        self.stages = Timers("shortlist_stage_seconds", "Time of a stage of an answered request.", ["stage"], SECONDS)
        self.registry.register(self.requests)
        self.registry.register(self.stages)
        self.fallbacks = Counter(
            "shortlist_fallbacks",
            "Answers by another retriever than the assigned one.",
            ["assigned", "served", "reason"],
            registry=self.registry,
        )
        self.dropped = Counter(
            "shortlist_sink_dropped", "Records that a sink did not take.", ["sink"], registry=self.registry
        )
        self.bundle = Gauge("shortlist_bundle_info", "The bundle that is served.", ["version"], registry=self.registry)
        self.items = Gauge("shortlist_bundle_items", "Items of the bundle that is served.", registry=self.registry)
        self.swaps = Counter("shortlist_bundle_swaps", "Bundles that began to serve.", registry=self.registry)
        self.refused = Counter("shortlist_bundles_refused", "Bundles that were refused.", registry=self.registry)
        self.breakers = Gauge(
            "shortlist_breaker_open", "1 while calls are refused at once.", ["resource"], registry=self.registry
        )
        self.mirror = MirrorMetrics(self.registry)
        self.filter_masks = Counter(
            "shortlist_filter_masks",
            "Masks of filters that requests asked for, by whether they were in the cache.",
            ["cache"],
            registry=self.registry,
        )
        self.samplers: list[Callable[[], None]] = []
        self.in_flight = Gauge("shortlist_searches_admitted", "Searches that run or wait.", registry=self.registry)

    def observe(self, scope: Scope, exchange: Exchange, seconds: float) -> None:
        """Take note of a finished exchange."""
        del scope
        served: Served | None = exchange.facts.get("served")
        labels = (NONE, NONE) if served is None else (served.served._value_, _variant(served))
        self.requests.observe((exchange.route or "other", *labels, exchange.status), seconds)
        if served is not None:
            self._served(served)

    def _served(self, served: Served) -> None:
        for stage, ms in served.timings.items():
            self.stages.observe((stage,), ms / 1000)
        if served.reason is not None:
            self.fallbacks.labels(served.assigned.value, served.served.value, served.reason.value).inc()

    def engine_comes(self, engine: Engine) -> None:
        """Follow the caches of an engine that will serve."""
        hit, miss = self.filter_masks.labels("hit"), self.filter_masks.labels("miss")
        engine.filters.on_look = lambda kept: (hit if kept else miss).inc()

    def engine_serves(self, engine: Engine) -> None:
        """Take note of a bundle that begins to serve."""
        self.bundle.clear()
        self.bundle.labels(engine.version).set(1)
        self.items.set(engine.bundle.n_items)
        self.swaps.inc()

    def exposition(self) -> bytes:
        """The text format, with what is looked up rather than counted."""
        for sample in self.samplers:
            sample()
        return generate_latest(self.registry)

    def drop(self, sink: str, count: int) -> None:
        """Take note of records that a sink did not take."""
        self.dropped.labels(sink).inc(count)


def _variant(served: Served) -> str:
    assignment = served.assignment
    return NONE if assignment is None else f"{assignment.experiment}/{assignment.variant}"
