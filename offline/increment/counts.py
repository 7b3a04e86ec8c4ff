"""Counts with some taken away and others added, exact because they are whole numbers; and catalogues that change."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Longs = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]

GONE = -1


@dataclass(frozen=True, slots=True)
class Renumbering:
    """Item indices of one catalogue in the next; the order of surviving items is the same in both.

    Attributes:
        place: int64 [n_old]: the new index of each old item, -1 = gone.
        origin: int64 [n_new]: the old index of each new item, -1 = new.
    """

    place: Longs
    origin: Longs

    @classmethod
    def between(cls, old: pa.Array, new: pa.Array) -> "Renumbering":
        """From the ids of both, each in index order.

        >>> Renumbering.between(pa.array(["a", "c", "d"]), pa.array(["a", "b", "d"])).place.tolist()
        [0, -1, 2]
        """
        place = pc.index_in(old, value_set=new).fill_null(GONE).to_numpy(zero_copy_only=False).astype(np.int64)
        origin = np.full(len(new), GONE, np.int64)
        kept = np.flatnonzero(place >= 0)
        origin[place[kept]] = kept
        return cls(place, origin)

    @property
    def same(self) -> bool:
        """Whether both catalogues hold the same items."""
        return len(self.place) == len(self.origin) and bool((self.place >= 0).all())

    def moved(self, values: npt.NDArray[Any], blank: float) -> npt.NDArray[Any]:
        """An array with a row an item, in the new order; `blank` in rows of new items."""
        if self.same:
            return values
        rows = np.full((len(self.origin), *values.shape[1:]), blank, values.dtype)
        known = self.origin >= 0
        rows[known] = values[self.origin[known]]
        return rows


def changed(keys: Longs, counts: Longs, by_keys: Longs, by: Longs) -> tuple[Longs, Longs]:
    """Rising keys and their counts after adding `by` to those of `by_keys`; what falls to zero is left out.

    Args:
        keys: int64 [m], rising, distinct.
        counts: int64 [m].
        by_keys: int64 [k], in any order, repeated or not.
        by: int64 [k], negative to take away.

    >>> [a.tolist() for a in changed(np.array([2, 5]), np.array([1, 4]), np.array([5, 2, 9]), np.array([1, -1, 3]))]
    [[5, 9], [5, 3]]
    """
    distinct, group = np.unique(by_keys, return_inverse=True)
    change = np.zeros(len(distinct), np.int64)
    np.add.at(change, group, by)
    at = np.searchsorted(keys, distinct)
    known = np.zeros(len(distinct), np.bool_)
    inside = at < len(keys)
    known[inside] = keys[at[inside]] == distinct[inside]
    counts = counts.copy()
    counts[at[known]] += change[known]
    fresh = ~known & (change != 0)
    keys, counts = np.insert(keys, at[fresh], distinct[fresh]), np.insert(counts, at[fresh], change[fresh])
    if len(counts) and counts.min() < 0:
        raise AssertionError("more was taken away than had been counted")
    left = counts > 0
    return (keys, counts) if left.all() else (keys[left], counts[left])
