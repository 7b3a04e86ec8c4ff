"""What is counted from interactions, and what jobs ask of a data set however it was counted."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from models.ids import ItemIds
from models.retrieval import Items
from offline.ingest.columns import COUNT, ITEM, NEXT_ITEM, RATING
from offline.ingest.report import IngestReport


@dataclass(frozen=True, slots=True)
class Transitions:
    """How often an item directly follows another in training sequences.

    Attributes:
        sources: int32 [E], rising.
        targets: int32 [E], rising within a source.
        counts: int64 [E].
    """

    sources: Items
    targets: Items
    counts: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RatingCounts:
    """How often each rating was given to an item in training.

    Attributes:
        items: int32 [R], rising.
        ratings: float64 [R], rising within an item.
        counts: int64 [R].
    """

    items: Items
    ratings: npt.NDArray[np.float64]
    counts: npt.NDArray[np.int64]

    def totals(self, n_items: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        """Sum float64 [n_items] and number int64 [n_items] of each item's ratings.

        >>> counts = RatingCounts(np.array([1, 1], np.int32), np.array([2.0, 5.0]), np.array([3, 1]))
        >>> [total.tolist() for total in counts.totals(3)]
        [[0.0, 11.0, 0.0], [0, 4, 0]]
        """
        sums = np.bincount(self.items, self.ratings * self.counts, n_items).astype(np.float64)
        return sums, np.bincount(self.items, self.counts, n_items).astype(np.int64)


class Counts(Protocol):
    """What jobs ask of a data set, however it was counted."""

    @property
    def items(self) -> pa.Table:
        """The catalogue table in item index order."""
        ...

    @property
    def ids(self) -> ItemIds:
        """Its ids."""
        ...

    @property
    def report(self) -> IngestReport:
        """What was dropped and why."""
        ...

    def transitions(self) -> Transitions:
        """Counted transitions of the training part."""
        ...

    def popularity(self) -> npt.NDArray[np.int64]:
        """int64 [n_items]: training interactions of each item."""
        ...

    def ratings(self) -> RatingCounts:
        """How often each rating was given to an item in training."""
        ...

    def statistics(self) -> dict[str, Any]:
        """Facts for the manifest."""
        ...


def numbers(table: pa.Table, column: str, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    return np.asarray(table[column].to_numpy()).astype(dtype)


def counted_transitions(table: pa.Table) -> Transitions:
    """From what `expressions.transitions` yields."""
    return Transitions(
        numbers(table, ITEM, np.int32), numbers(table, NEXT_ITEM, np.int32), numbers(table, COUNT, np.int64)
    )


def counted_ratings(table: pa.Table) -> RatingCounts:
    """From what `expressions.ratings` yields."""
    return RatingCounts(
        numbers(table, ITEM, np.int32), numbers(table, RATING, np.float64), numbers(table, COUNT, np.int64)
    )
