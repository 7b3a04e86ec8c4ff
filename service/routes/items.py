"""`GET /items`, `/items/{id}`, `/items/{id}/neighbours`: the catalogue for people."""

import asyncio
from typing import Annotated, Any

import numpy as np
import orjson
from fastapi import APIRouter, Query
from starlette.responses import Response

from models.retrieval import Items
from service.answers import ItemAnswer, ItemPage, NeighboursAnswer
from service.catalogue import CursorError
from service.engine import Engine
from service.neighbours import neighbourhood
from service.problems import FieldError, bad_fields, unknown_item
from service.routes.documented import problems
from service.runtime import Runtime
from service.schemas import Id

MAX_PAGE = 100
MAX_TEXT = 256
MAX_CURSOR = 512
MAX_NEIGHBOURS = 200

Text = Annotated[str, Query(max_length=MAX_TEXT, description="Words that title, brand or id must all hold.")]
Cursor = Annotated[str | None, Query(max_length=MAX_CURSOR, description="`next_cursor` of the page before.")]
PageSize = Annotated[int, Query(ge=1, le=MAX_PAGE, description="Items on a page.")]
Ids = Annotated[list[Id], Query(max_length=MAX_PAGE, description="These items only, in this order.")]
Edges = Annotated[int, Query(ge=1, le=MAX_NEIGHBOURS, description="Edges in each direction.")]


def _json(document: Any) -> Response:
    return Response(orjson.dumps(document), media_type="application/json")


def _known(engine: Engine, item_id: str) -> int:
    index = engine.bundle.ids.index(item_id)
    if index < 0:
        raise unknown_item()
    return index


def _page(engine: Engine, items: Items, cursor: str | None) -> dict[str, Any]:
    described = engine.catalogue.describe(items, engine.stock.mask)
    return {"items": described, "next_cursor": cursor, "bundle": engine.version}


def _named(engine: Engine, ids: list[str]) -> dict[str, Any]:
    indices = engine.bundle.ids.indices(ids)
    return _page(engine, indices[indices >= 0], None)


def _found(engine: Engine, text: str, cursor: str | None, limit: int) -> dict[str, Any]:
    try:
        page = engine.catalogue.search(text, cursor=cursor, limit=limit)
    except CursorError as error:
        raise bad_fields([FieldError(str(error), parameter="cursor")]) from None
    return _page(engine, page.items, page.cursor)


def item_routes(runtime: Runtime) -> APIRouter:
    """The routes, over the state of the process."""
    router = APIRouter(tags=["items"])

    @router.get(
        "/items",
        operation_id="listItems",
        response_model=ItemPage,
        responses=problems(400, 422, 429, 503),
        summary="Browse or search the catalogue",
    )
    async def list_items(
        q: Text = "",
        cursor: Cursor = None,
        limit: PageSize = 20,
        id: Ids = [],  # noqa: A002, B006
    ) -> Response:
        """Most popular first. With `id` (repeatable) just those items, unknown ones left out."""
        engine = runtime.require_engine()
        work = (_named, engine, id) if id else (_found, engine, q, cursor, limit)
        return _json(await asyncio.to_thread(*work))

    @router.get(
        "/items/{item_id:segment}",
        operation_id="getItem",
        response_model=ItemAnswer,
        responses=problems(400, 404, 422, 429, 503),
        summary="One item",
    )
    async def get_item(item_id: Id) -> Response:
        """What the catalogue says of an item; the id is percent-encoded."""
        engine = runtime.require_engine()
        one = np.array([_known(engine, item_id)], np.int32)
        return _json((await asyncio.to_thread(engine.catalogue.describe, one, engine.stock.mask))[0])

    @router.get(
        "/items/{item_id:segment}/neighbours",
        operation_id="getNeighbours",
        response_model=NeighboursAnswer,
        responses=problems(400, 404, 422, 429, 503),
        summary="The transition graph around an item",
    )
    async def get_neighbours(item_id: Id, limit: Edges = 50) -> Response:
        """Items that followed it and items that it followed, each most often first, ties by item index."""
        engine = runtime.require_engine()
        index = _known(engine, item_id)
        return _json(await asyncio.to_thread(neighbourhood, engine.bundle, engine.catalogue, index, limit=limit))

    return router
