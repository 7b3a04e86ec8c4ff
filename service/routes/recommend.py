"""`POST /recommend`: the raw body is validated in one step and the answer written in one, past the framework's own
body parsing and response models, which cost more than the retrieval."""

import time
from http import HTTPStatus

from starlette.types import ASGIApp, Receive, Scope, Send

from models.words import FallbackReason, RetrieverName
from service.body import check_media_type, read_body
from service.chain import Outcome
from service.engine import Engine
from service.exchange import Exchange, exchange_of
from service.excluded import Asked, read_asked
from service.ports import Assignment, Served, StageError
from service.problems import FieldError, ProblemError, ProblemKind, bad_fields, unavailable
from service.resolve import Past, resolve
from service.respond import render, send_json, server_timing
from service.runtime import Runtime
from service.schemas import RecommendRequest, RetrieverChoice

NAMES: dict[RetrieverChoice, RetrieverName] = {
    choice: RetrieverName(choice.value) for choice in RetrieverChoice if choice is not RetrieverChoice.AUTO
}


class Recommend:
    """ASGI endpoint of `/recommend`.

    Args:
        runtime: state of the process.
        fixed: the retriever that the path names, None = it names none.
    """

    def __init__(self, runtime: Runtime, fixed: RetrieverName | None = None) -> None:
        self._runtime, self._fixed = runtime, fixed
        self._route = "/recommend" if fixed is None else "/recommend/{retriever}"
        settings = runtime.settings
        self._limit, self._timeout_s = settings.max_body_bytes, settings.body_timeout_s
        self._deadline_ms = settings.deadline_ms

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        exchange = exchange_of(scope)
        exchange.route = self._route
        check_media_type(exchange)
        asked = read_asked(await read_body(receive, limit=self._limit, timeout_s=self._timeout_s))
        request = asked.request
        served = await self._serve(asked, exchange)
        took_ms = (time.monotonic() - exchange.started) * 1e3
        body = render(exchange, request.user_id, served, took_ms)
        await send_json(send, body, server_timing(served.timings, took_ms))
        exchange.facts["served"] = served
        if self._runtime.exposures is not None:
            self._runtime.exposures.record(exchange.request_id, request, served)

    async def _serve(self, asked: Asked, exchange: Exchange) -> Served:
        request, excluded = asked
        engine = self._runtime.require_engine()
        deadline = exchange.started + (request.deadline_ms or self._deadline_ms) / 1e3
        assignment, retriever = self._assign(request)
        engine, lost = self._shadow(engine, assignment)
        past = Past(request.history) if request.history is not None else await self._stored(request, deadline)
        plan, unknown = resolve(
            engine, request, retriever, past=past, excluded=excluded, assignment=assignment, deadline=deadline
        )
        if lost is not None and not request.fallback:
            raise unavailable("The variant's bundle is not loaded, and no fallback was wanted.", reason=lost)
        outcome = await self._runtime.chain.answer(engine, plan)
        return _served(engine, retriever, outcome, unknown, assignment, lost)

    def _shadow(self, engine: Engine, assignment: Assignment | None) -> tuple[Engine, FallbackReason | None]:
        """The bundle that the variant names; the current one, and why, where that is not loaded."""
        if assignment is None or assignment.bundle is None or assignment.bundle == engine.version:
            return engine, None
        shadow = self._runtime.shadows.get(assignment.bundle)
        return (engine, FallbackReason.BUNDLE) if shadow is None else (shadow, None)

    def _assign(self, request: RecommendRequest) -> tuple[Assignment | None, RetrieverName]:
        """Path, then body, then the running experiment, then the configured default."""
        named = NAMES.get(request.retriever)
        if self._fixed is not None and named not in (None, self._fixed):
            detail = f"the path says {self._fixed}, the body says {named}"
            raise bad_fields([FieldError(detail, "#/retriever")])
        chosen = self._fixed or named
        if chosen is not None:
            return None, chosen
        assignment = None if self._runtime.router is None else self._runtime.router.assign(request)
        return assignment, self._runtime.settings.default_retriever if assignment is None else assignment.retriever

    async def _stored(self, request: RecommendRequest, deadline: float) -> Past:
        """The stored history of the user."""
        if request.user_id is None or self._runtime.history is None:
            return Past()
        try:
            return Past(await self._runtime.history.read(request.user_id, deadline=deadline))
        except StageError as error:
            return Past(reason=error.reason)


class RecommendNamed:
    """ASGI endpoint of `/recommend/{retriever}`.

    Args:
        endpoints: one for each retriever.
    """

    def __init__(self, endpoints: dict[RetrieverName, ASGIApp]) -> None:
        self._endpoints: dict[str, ASGIApp] = {name.value: endpoint for name, endpoint in endpoints.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on to the retriever's endpoint."""
        endpoint = self._endpoints.get(scope["path_params"]["retriever"])
        if endpoint is None:
            raise unknown_retriever()
        await endpoint(scope, receive, send)


def unknown_retriever() -> ProblemError:
    """404: the path names no retriever."""
    known = ", ".join(RetrieverName)
    return ProblemError(
        HTTPStatus.NOT_FOUND,
        ProblemKind.UNKNOWN_RETRIEVER,
        f"There is no such retriever; there are {known}.",
        errors=[FieldError(f"should be one of {known}", parameter="retriever")],
    )


def _served(
    engine: Engine,
    assigned: RetrieverName,
    outcome: Outcome,
    unknown: list[str],
    assignment: Assignment | None,
    lost: FallbackReason | None,
) -> Served:
    return Served(
        bundle=engine.version,
        assigned=assigned,
        served=outcome.served,
        reason=outcome.reason or lost,
        candidates=outcome.candidates,
        rows=engine.rows,
        unknown=unknown,
        assignment=assignment,
        timings=outcome.timings,
    )
