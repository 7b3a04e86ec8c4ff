"""`POST /events`, `/users/{id}/history`, `PUT /items/{id}/availability`: what changes while the service runs."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import orjson
from fastapi import APIRouter
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from models.words import FallbackReason
from service.body import check_media_type, parse, read_body, read_model
from service.exchange import exchange_of
from service.history import Event
from service.live.live import Live
from service.live.schemas import (
    AvailabilityAnswer,
    AvailabilityBody,
    ErasedAnswer,
    EventBatch,
    EventBody,
    EventsAnswer,
    FlipsAnswer,
    FlipsBody,
    HistoryAnswer,
)
from service.problems import unavailable, unknown_item
from service.redis.link import RedisDownError
from service.routes.documented import problems
from service.runtime import Runtime
from service.schemas import Id

NO_STORE = {"cache-control": "no-store"}
REF = "#/components/schemas/{model}"


def answer(document: Any) -> Response:
    """200 with a JSON document that no cache may keep."""
    return Response(orjson.dumps(document), media_type="application/json", headers=NO_STORE)


def body_of(*models: type[BaseModel]) -> dict[str, Any]:
    """The request body for the OpenAPI document, which FastAPI does not see: any one of the models."""
    schemas = [{"$ref": REF.format(model=model.__name__)} for model in models]
    schema = schemas[0] if len(schemas) == 1 else {"oneOf": schemas}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


class LiveRoutes:
    """The routes' work.

    Args:
        runtime: state of the process.
        live: the live parts, None = no Redis is configured.
    """

    def __init__(self, runtime: Runtime, live: Live | None) -> None:
        self._runtime, self._live = runtime, live

    def live(self) -> Live:
        """The live parts.

        Raises:
            ProblemError: 503, no Redis is configured.
        """
        if self._live is None:
            raise unavailable("No Redis is configured.", reason=FallbackReason.REDIS, retry_after_s=60)
        return self._live

    async def read(self, model: type[Any], request: Request) -> Any:
        """The checked body."""
        settings = self._runtime.settings
        limit, timeout_s = settings.max_body_bytes, settings.body_timeout_s
        return await read_model(model, request.scope, request.receive, limit=limit, timeout_s=timeout_s)

    async def events(self, request: Request) -> list[Event]:
        """One event, or a list of them."""
        settings = self._runtime.settings
        check_media_type(exchange_of(request.scope))
        body = await read_body(request.receive, limit=settings.max_body_bytes, timeout_s=settings.body_timeout_s)
        if body.lstrip()[:1] == b"[":
            return [event.event_of() for event in parse(EventBatch, body).root]
        return [parse(EventBody, body).event_of()]

    async def append(self, events: list[Event]) -> dict[str, int]:
        """Append each user's events and note the new ones.

        Where Redis fails in the middle, what some users' histories took is noted all the same: sent again it would be
        a repetition.
        """
        live, by_user = self.live(), defaultdict(list)
        for event in events:
            by_user[event.user_id].append(event)
        written = await asyncio.gather(
            *(live.histories.append(user, own) for user, own in by_user.items()), return_exceptions=True
        )
        new = list(_fresh(by_user.values(), written))
        for event in new:
            live.journal.happened(event)
        for failure in written:
            if isinstance(failure, RedisDownError):
                raise _redis_down() from None
            if isinstance(failure, BaseException):
                raise failure
        return {"accepted": len(new), "duplicates": len(events) - len(new)}

    async def history(self, user_id: str) -> dict[str, Any]:
        """The stored history."""
        live = self.live()
        try:
            entries = await live.histories.read(user_id)
        except RedisDownError:
            raise _redis_down() from None
        weight = live.histories.config.weight
        rows = [
            {"item_id": one.item_id, "event": one.event, "timestamp": one.timestamp, "weight": weight(one.event)}
            for one in entries
        ]
        return {"user_id": user_id, "items": rows}

    async def erase(self, user_id: str) -> dict[str, Any]:
        """Erase a history."""
        try:
            return {"user_id": user_id, "erased": await self.live().histories.erase(user_id)}
        except RedisDownError:
            raise _redis_down() from None

    async def flip(self, flips: dict[str, bool]) -> int:
        """Change stock."""
        try:
            return await self.live().stock.set_available(flips)
        except RedisDownError:
            raise _redis_down() from None

    def known(self, item_id: str) -> bool:
        """Whether the served bundle holds an item."""
        return self._runtime.require_engine().bundle.ids.index(item_id) >= 0


def _fresh(by_user: Iterable[list[Event]], written: Iterable[list[bool] | BaseException]) -> Iterator[Event]:
    """Events that their histories took, and did not know."""
    for events, flags in zip(by_user, written, strict=True):
        if not isinstance(flags, BaseException):
            yield from (event for event, new in zip(events, flags, strict=True) if new)


def _redis_down() -> Exception:
    return unavailable("Redis does not answer; nothing was lost, send it again.", reason=FallbackReason.REDIS)


def live_routes(runtime: Runtime, live: Live | None) -> APIRouter:
    """The routes, over the state of the process."""
    router, work = APIRouter(), LiveRoutes(runtime, live)

    @router.post(
        "/events",
        operation_id="postEvents",
        tags=["events"],
        response_model=EventsAnswer,
        responses=problems(400, 408, 413, 415, 422, 429, 503),
        summary="Append events to histories",
        openapi_extra=body_of(EventBody, EventBatch),
    )
    async def post_events(request: Request) -> Response:
        """One event or a list of up to 1,000. Sending events again is safe: each `event_id` of a user counts once."""
        return answer(await work.append(await work.events(request)))

    @router.get(
        "/users/{user_id:segment}/history",
        operation_id="getHistory",
        tags=["users"],
        response_model=HistoryAnswer,
        responses=problems(400, 422, 429, 503),
        summary="A user's stored history",
    )
    async def get_history(user_id: Id) -> Response:
        """Oldest first; empty for an unknown user."""
        return answer(await work.history(user_id))

    @router.delete(
        "/users/{user_id:segment}/history",
        operation_id="deleteHistory",
        tags=["users"],
        response_model=ErasedAnswer,
        responses=problems(400, 422, 429, 503),
        summary="Erase a user's history",
    )
    async def delete_history(user_id: Id) -> Response:
        """The history and the event ids that were remembered. Sinks: `shortlist forget USER`."""
        return answer(await work.erase(user_id))

    @router.put(
        "/items/availability",
        operation_id="putAvailabilities",
        tags=["items"],
        response_model=FlipsAnswer,
        responses=problems(400, 408, 413, 415, 422, 429, 503),
        summary="Change the stock of many items",
        openapi_extra=body_of(FlipsBody),
    )
    async def put_availabilities(request: Request) -> Response:
        """Reaches every process within milliseconds; kept over restarts and bundle swaps."""
        body: FlipsBody = await work.read(FlipsBody, request)
        flips = {flip.item_id: flip.available for flip in body.items}
        unknown = [item_id for item_id in flips if not work.known(item_id)]
        revision = await work.flip(flips)
        return answer({"changed": len(flips), "revision": revision, "unknown_items": unknown})

    @router.put(
        "/items/{item_id:segment}/availability",
        operation_id="putAvailability",
        tags=["items"],
        response_model=AvailabilityAnswer,
        responses=problems(400, 404, 408, 413, 415, 422, 429, 503),
        summary="Change the stock of one item",
        openapi_extra=body_of(AvailabilityBody),
    )
    async def put_availability(item_id: Id, request: Request) -> Response:
        """Reaches every process within milliseconds; kept over restarts and bundle swaps."""
        body: AvailabilityBody = await work.read(AvailabilityBody, request)
        if not work.known(item_id):
            raise unknown_item()
        revision = await work.flip({item_id: body.available})
        return answer({"item_id": item_id, "available": body.available, "revision": revision})

    return router
