"""From a request to a query: ids become indices, rules become masks, defaults and decisions are filled in."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from models.filters import Filter, Kept, known_once
from models.ids import Cut
from models.retrieval import NO_ITEMS, Eligible, Items, Query, ValueParams
from models.words import FallbackReason, RetrieverName
from service.chain import Plan
from service.engine import Engine
from service.ports import Assignment
from service.schemas import MAX_HISTORY, FilterFields, RecommendRequest, ValueFields

DEFAULT_VALUE = ValueParams()
EVERYTHING = Kept()


@dataclass(frozen=True, slots=True)
class Past:
    """A user's history as it is known for one request.

    Attributes:
        item_ids: oldest first.
        reason: why it could not be read, None = it could.
    """

    item_ids: Sequence[str] = ()
    reason: FallbackReason | None = None


def _value(asked: ValueFields | None) -> ValueParams:
    if asked is None:
        return DEFAULT_VALUE
    weights = DEFAULT_VALUE.weights if asked.weights is None else asked.weights.normalised()
    return ValueParams(alpha=asked.alpha, weights=weights, pool=asked.pool)


def _filtered(engine: Engine, asked: FilterFields) -> Kept:
    price = asked.price
    rules = Filter(
        brand=tuple(asked.brand),
        category=tuple(asked.category),
        price_gte=None if price is None else price.gte,
        price_lte=None if price is None else price.lte,
    )
    return engine.filters.kept(rules)


def _kept(engine: Engine, request: RecommendRequest) -> Kept:
    """What filter and stock keep."""
    wanted = EVERYTHING if request.filter is None else _filtered(engine, request.filter)
    stock = engine.stock.mask
    return wanted if stock is None else wanted.within(stock)


def _sorted_items(indices: set[int]) -> Items:
    indices.discard(-1)
    if not indices:
        return NO_ITEMS
    items = np.array(sorted(indices), np.int32)
    items.flags.writeable = False
    return items


def _blocked(engine: Engine, request: RecommendRequest, seen: Sequence[int], excluded: Cut | None) -> Items:
    """Seen items, unless they may be returned, and excluded ones; Python's sets suit the few, arrays the many."""
    seen = seen if request.exclude_seen else ()
    if excluded is None and not request.exclude:
        return _sorted_items(set(seen))
    ids = engine.bundle.ids
    barred = ids.indices(request.exclude) if excluded is None else ids.at(excluded)
    return known_once(np.concatenate([barred, np.array(seen, np.int32)]))


def resolve(
    engine: Engine,
    request: RecommendRequest,
    retriever: RetrieverName,
    *,
    past: Past,
    excluded: Cut | None,
    assignment: Assignment | None,
    deadline: float,
) -> tuple[Plan, list[str]]:
    """What to ask of the chain, and the ids of the history that the bundle lacks (each once, oldest first).

    Args:
        engine: the bundle that answers.
        request: the request.
        retriever: who is to answer.
        past: the history.
        excluded: exclusions that were read apart from the request, which then names none.
        assignment: an experiment's decision; its parameters win over the request's.
        deadline: on the clock of `time.monotonic`, in seconds.
    """
    ids = past.item_ids[-MAX_HISTORY:]
    found = engine.bundle.ids.find(ids)
    unknown = list(dict.fromkeys(i for i, at in zip(ids, found, strict=True) if at < 0)) if -1 in found else []
    mask, few = _kept(engine, request)
    query = Query(
        history=np.array([at for at in found if at >= 0] if unknown else found, np.int32),
        k=request.k,
        eligible=Eligible(engine.bundle.n_items, mask, _blocked(engine, request, found, excluded), few),
        order=(assignment and assignment.order) or request.order,
        value=(assignment and assignment.value) or _value(request.value),
        beam=(assignment and assignment.beam) or request.beam,
    )
    return Plan(retriever, query, deadline, request.fallback, past.reason), unknown
