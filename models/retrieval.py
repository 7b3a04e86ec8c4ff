"""The contract between retrievers and those who ask them (evaluation, service, command line)."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from models.words import SOURCES, Order, RetrieverName, Source

Items = npt.NDArray[np.int32]
NO_ITEMS: Items = np.empty(0, np.int32)


@dataclass(frozen=True, slots=True)
class Eligible:
    """Which items may be returned: in stock, through the filter, not seen, not excluded.

    Attributes:
        n_items: catalogue size.
        mask: bool [n_items], True = may be returned, or None when no stock or filter rule applies.
            Shared and never written to.
        blocked: int32, sorted, unique: further items that may not be returned (seen and excluded ones).
        few: int32, ascending: the items that `mask` allows, where these are few and listed already. It says nothing
            that the mask does not say; it spares looking through the whole of it.
    """

    n_items: int
    mask: npt.NDArray[np.bool_] | None = None
    blocked: Items = field(default_factory=lambda: NO_ITEMS)
    few: Items | None = None

    def allows(self, items: Items) -> npt.NDArray[np.bool_]:
        """bool [len(items)]: which of the item indices may be returned."""
        allowed = np.ones(len(items), np.bool_) if self.mask is None else self.mask[items]
        if len(self.blocked):
            place = np.searchsorted(self.blocked, items)
            place[place == len(self.blocked)] = 0
            allowed = allowed & (self.blocked[place] != items)
        return allowed

    def dense(self) -> npt.NDArray[np.bool_]:
        """A fresh bool [n_items] array that holds both rules."""
        allowed = np.ones(self.n_items, np.bool_) if self.mask is None else self.mask.copy()
        allowed[self.blocked] = False
        return allowed

    def count(self) -> int:
        """Number of items that may be returned."""
        if self.mask is None:
            return self.n_items - len(self.blocked)
        return int(np.count_nonzero(self.mask)) - int(np.count_nonzero(self.mask[self.blocked]))


@dataclass(frozen=True, slots=True)
class ValueParams:
    """Parameters of the value prior of one request.

    Attributes:
        alpha: weight of the value against the scaled similarity, 0 to 1.
        weights: popularity, rating, brand; each >= 0, sum 1.
        pool: number of DR candidates that are re-ranked; max(pool, k) are taken.
    """

    alpha: float = 0.5
    weights: tuple[float, float, float] = (0.25, 0.25, 0.50)
    pool: int = 200


@dataclass(frozen=True, slots=True)
class Query:
    """One request to a retriever.

    Attributes:
        history: int32 item indices, oldest first, known items only, repeats kept; may be empty.
        k: number of candidates wanted, >= 1.
        eligible: what may be returned.
        order: order of a TGH list.
        value: parameters of the value prior.
        beam: beam width of GR; None = max(50, k).
        fill: fill a short list (text neighbours of the anchor, then popular items), each labelled `backfill`.
    """

    history: Items
    k: int
    eligible: Eligible
    order: Order = Order.SCORE
    value: ValueParams = field(default_factory=ValueParams)
    beam: int | None = None
    fill: bool = True


@dataclass(frozen=True, slots=True)
class Candidates:
    """A ranked list.

    Attributes:
        items: int32 [n], n <= k, without repeats.
        scores: float32 [n], finite.
        sources: uint8 [n], positions in `models.words.SOURCES`.
        exact: GR only: the list is provably what an unbounded beam would have found.
        stages: milliseconds by stage, where there is more than one.
    """

    items: Items
    scores: npt.NDArray[np.float32]
    sources: npt.NDArray[np.uint8]
    exact: bool | None = None
    stages: Mapping[str, float] | None = None

    def source_names(self) -> list[Source]:
        """The sources as words."""
        return [SOURCES[code] for code in self.sources.tolist()]


class StageClock:
    """Milliseconds by stage of one request.

    >>> clock = StageClock(); clock.end("encode"); clock.end("search")
    >>> list(clock.taken)
    ['encode', 'search']
    """

    def __init__(self) -> None:
        self.taken: dict[str, float] = {}
        self._since = time.perf_counter()

    def end(self, stage: str) -> None:
        """A stage is over; the next one begins."""
        now = time.perf_counter()
        self.taken[stage], self._since = (now - self._since) * 1e3, now


def with_history(
    queries: Sequence[Query],
    cold: Callable[[Query], Candidates],
    warm: Callable[[Sequence[Query]], list[Candidates]],
) -> list[Candidates]:
    """One list a query: `cold` answers those without a history, `warm` the others together."""
    known = [query for query in queries if len(query.history)]
    answers = iter(warm(known) if known else ())
    return [next(answers) if len(query.history) else cold(query) for query in queries]


class Retriever(Protocol):
    """A pure function from a query to a ranked list, over one bundle."""

    name: RetrieverName

    def retrieve(self, query: Query) -> Candidates:
        """The k best eligible items; ties by item index; `backfill` items last."""
        ...

    def retrieve_batch(self, queries: Sequence[Query]) -> list[Candidates]:
        """The same lists as one `retrieve` a query, computed together."""
        ...


@runtime_checkable
class Batching(Protocol):
    """A retriever that takes less time for several queries together than one by one."""

    at_once: int
    """Queries that are worth to be answered together."""


def at_once(retriever: Retriever) -> int:
    """Queries that a retriever is best asked at once."""
    return retriever.at_once if isinstance(retriever, Batching) else 1
