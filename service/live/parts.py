"""Adapters from the live parts to the ports of the request path."""

import time
from collections.abc import Callable, Sequence
from http import HTTPStatus

import structlog

from models.words import FallbackReason
from service.experiments.book import ExperimentBook
from service.experiments.routing import Decision, UnknownVariantError, route, unit_of
from service.history import Event, HistoryStore
from service.ports import Assignment, Served, StageError
from service.problems import FieldError, ProblemError, ProblemKind
from service.redis.link import RedisDownError
from service.schemas import RecommendRequest
from service.sinks.files import FileSink
from service.sinks.records import event_record, exposure_record
from service.sinks.stream import StreamSink

log = structlog.get_logger(__name__)


class StoredHistory:
    """Histories for `/recommend`.

    Args:
        store: where they are.
        timeout_s: the longest a request waits; half of what is left of its deadline if that is less.
    """

    def __init__(self, store: HistoryStore, *, timeout_s: float) -> None:
        self._store, self._timeout_s = store, timeout_s

    async def read(self, user_id: str, *, deadline: float) -> Sequence[str]:
        """Item ids, oldest first.

        Raises:
            StageError: Redis is down or late.
        """
        limit = min(self._timeout_s, max(0.0, (deadline - time.monotonic()) / 2))
        try:
            return await self._store.item_ids(user_id, timeout_s=limit)
        except RedisDownError:
            raise StageError(FallbackReason.REDIS) from None


class ExperimentRouter:
    """The running experiments as a router."""

    def __init__(self, book: ExperimentBook) -> None:
        self._book = book

    def assign(self, request: RecommendRequest) -> Assignment | None:
        """What the running experiment decides.

        Raises:
            ProblemError: 422, the request forces a variant that does not run.
        """
        unit = unit_of(request.user_id, request.session_id)
        try:
            decision = route(self._book, scenario=request.scenario, unit=unit, forced=request.variant)
        except UnknownVariantError:
            detail = "No experiment that runs in this scenario has a variant of this name."
            field = FieldError(detail, "#/variant")
            raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, ProblemKind.BAD_FIELD, detail, errors=[field]) from None
        return None if decision is None else _assignment(decision)


def _assignment(decision: Decision) -> Assignment:
    variant = decision.variant
    return Assignment(
        experiment=decision.experiment.name,
        variant=variant.name,
        retriever=variant.retriever,
        value=variant.value(),
        order=variant.order,
        beam=variant.beam,
        bundle=variant.bundle,
        unit=None if decision.unit is None else decision.unit.name,
        salt=decision.experiment.salt,
        share=decision.share,
        forced=decision.forced,
    )


class Journal:
    """Exposures and events, each to a stream and to a file.

    Args:
        key: gives the key of the users' hashes.
        exposures, events: where they go; each takes a record at once or drops and counts it.
    """

    def __init__(
        self,
        key: Callable[[], bytes],
        *,
        exposures: tuple[FileSink, StreamSink],
        events: tuple[FileSink, StreamSink],
    ) -> None:
        self._key, self._exposures, self._events = key, exposures, events

    def start(self) -> None:
        """Begin to write."""
        for sink in (*self._exposures, *self._events):
            sink.start()

    async def stop(self) -> None:
        """Write what waits; the files first, since Redis may be away."""
        for file, _ in (self._exposures, self._events):
            file.close()
        for _, stream in (self._exposures, self._events):
            await stream.close()

    def record(self, request_id: str, request: RecommendRequest, served: Served) -> None:
        """Note what was shown; never waits, never raises."""
        try:
            record = exposure_record(self._key(), request_id, request, served)
            for sink in self._exposures:
                sink.put(record)
        except Exception:
            log.exception("exposure_lost", request_id=request_id)

    def happened(self, event: Event) -> None:
        """Note an event."""
        record = event_record(self._key(), event)
        for sink in self._events:
            sink.put(record)
