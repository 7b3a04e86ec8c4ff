"""`POST /recommend`: the raw body is validated in one step and the answer written in one, past the framework's own
body parsing and response models, which cost more than the retrieval."""

import time

from starlette.types import Receive, Scope, Send

from models.words import RetrieverName
from service.body import read_model
from service.chain import Outcome
from service.engine import Engine
from service.exchange import Exchange, exchange_of
from service.ports import Assignment, Served, StageError
from service.problems import FieldError, bad_fields
from service.resolve import Past, resolve
from service.respond import render, send_json, server_timing
from service.routes.retriever_path import retriever_of
from service.runtime import Runtime
from service.schemas import RecommendRequest, RetrieverChoice

NAMES: dict[RetrieverChoice, RetrieverName] = {
    choice: RetrieverName(choice.value) for choice in RetrieverChoice if choice is not RetrieverChoice.AUTO
}


class Recommend:
    """ASGI endpoint of `/recommend` and, with a retriever in the path, `/recommend/{retriever}`.

    Args:
        runtime: state of the process.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        settings = runtime.settings
        self._limit, self._timeout_s = settings.max_body_bytes, settings.body_timeout_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        exchange = exchange_of(scope)
        fixed = retriever_of(scope)
        exchange.route = "/recommend" if fixed is None else "/recommend/{retriever}"
        request = await read_model(RecommendRequest, scope, receive, limit=self._limit, timeout_s=self._timeout_s)
        served = await self._serve(request, fixed, exchange)
        took_ms = (time.monotonic() - exchange.started) * 1e3
        body = render(exchange, request.user_id, served, took_ms)
        await send_json(send, body, server_timing(served.timings, took_ms))
        exchange.facts["served"] = served
        if self._runtime.exposures is not None:
            self._runtime.exposures.record(exchange.request_id, request, served)

    async def _serve(self, request: RecommendRequest, fixed: RetrieverName | None, exchange: Exchange) -> Served:
        engine = self._runtime.require_engine()
        deadline = exchange.started + (request.deadline_ms or self._runtime.settings.deadline_ms) / 1e3
        assignment, retriever = self._assign(request, fixed)
        past = await self._past(request, deadline)
        plan, unknown = resolve(engine, request, retriever, past=past, assignment=assignment, deadline=deadline)
        outcome = await self._runtime.chain.answer(engine, plan)
        return _served(engine, retriever, outcome, unknown, assignment)

    def _assign(
        self, request: RecommendRequest, fixed: RetrieverName | None
    ) -> tuple[Assignment | None, RetrieverName]:
        """Path, then body, then the running experiment, then the configured default."""
        named = NAMES.get(request.retriever)
        if fixed is not None and named not in (None, fixed):
            detail = f"the path says {fixed}, the body says {named}"
            raise bad_fields([FieldError(detail, "#/retriever")])
        chosen = fixed or named
        if chosen is not None:
            return None, chosen
        assignment = None if self._runtime.router is None else self._runtime.router.assign(request)
        return assignment, self._runtime.settings.default_retriever if assignment is None else assignment.retriever

    async def _past(self, request: RecommendRequest, deadline: float) -> Past:
        """The request's own history, else the stored one."""
        if request.history is not None:
            return Past(request.history)
        if request.user_id is None or self._runtime.history is None:
            return Past()
        try:
            return Past(await self._runtime.history.read(request.user_id, deadline=deadline))
        except StageError as error:
            return Past(reason=error.reason)


def _served(
    engine: Engine,
    assigned: RetrieverName,
    outcome: Outcome,
    unknown: list[str],
    assignment: Assignment | None,
) -> Served:
    return Served(
        bundle=engine.version,
        assigned=assigned,
        served=outcome.served,
        reason=outcome.reason,
        candidates=outcome.candidates,
        item_ids=engine.bundle.ids.strings(outcome.candidates.items),
        unknown=unknown,
        assignment=assignment,
        timings=outcome.timings,
    )
