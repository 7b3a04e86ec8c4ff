"""The array types that all measures share, and the checks at their doors."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from models.errors import InputError

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

PAD = -1
"""Fills a list shorter than k, and stands for "no item" and "no category"."""


@dataclass(frozen=True, slots=True)
class Ragged:
    """Rows of different lengths in compressed form (CSR): row r holds `indices[indptr[r]:indptr[r + 1]]`.

    Attributes:
        indptr: int64 [n_rows + 1], from 0, never falling.
        indices: int32 [n_entries], item indices, rising within a row, no repeats in a row.
        weights: float64 [n_entries], a number an entry: an edge weight or a grade.

    Raises:
        InputError: the three arrays do not fit together, or a row's indices do not rise.
    """

    indptr: Longs
    indices: Ints
    weights: Floats

    def __post_init__(self) -> None:
        fits = len(self.indptr) > 0 and self.indptr[0] == 0 and self.indptr[-1] == len(self.indices)
        if not fits or len(self.weights) != len(self.indices) or np.any(np.diff(self.indptr) < 0):
            raise InputError(
                "ragged rows",
                found=f"indptr {self.indptr.shape}, indices {self.indices.shape}, weights {self.weights.shape}",
                expected="indptr rising from 0 to the number of indices, and a weight for each index",
                remedy="Build the rows with Ragged.from_pairs.",
            )
        keys = self.keys(int(self.indices.max(initial=0)) + 1)
        if np.any(np.diff(keys) <= 0):
            raise InputError(
                "ragged rows",
                found="a row whose indices fall or repeat",
                expected="indices that rise within each row",
                remedy="Build the rows with Ragged.from_pairs.",
            )

    @classmethod
    def from_pairs(cls, rows: Ints, indices: Ints, weights: Floats | None = None, *, n_rows: int) -> Self:
        """Rows from (row, index[, weight]) triples in any order; of repeated pairs the greatest weight stays.

        Args:
            rows: int [n], 0 <= row < n_rows.
            indices: int [n], >= 0.
            weights: float64 [n]; None = 1 for each.
            n_rows: number of rows, empty ones included.

        Raises:
            InputError: a row lies outside 0..n_rows - 1, or an index below 0.

        >>> links = Ragged.from_pairs(np.array([2, 0, 0]), np.array([5, 7, 3]), n_rows=3)
        >>> links.indptr.tolist(), links.indices.tolist()
        ([0, 2, 2, 3], [3, 7, 5])
        """
        weights = np.ones(len(rows)) if weights is None else np.asarray(weights, np.float64)
        _check_pairs(rows, indices, n_rows)
        order = np.lexsort((-weights, indices, rows))
        rows, indices, weights = rows[order], indices[order], weights[order]
        fresh = np.ones(len(rows), np.bool_)
        fresh[1:] = (np.diff(rows) != 0) | (np.diff(indices) != 0)
        counts = np.bincount(rows[fresh], minlength=n_rows)
        indptr = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        return cls(indptr, indices[fresh].astype(np.int32), weights[fresh])

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.indptr) - 1

    def lengths(self) -> Longs:
        """int64 [n_rows]: entries a row."""
        return np.diff(self.indptr)

    def row_of_entry(self) -> Longs:
        """int64 [n_entries]: the row that each entry belongs to."""
        return np.repeat(np.arange(self.n_rows, dtype=np.int64), self.lengths())

    def keys(self, n_columns: int) -> Longs:
        """int64 [n_entries]: row * n_columns + index, rising: a sorted key an entry."""
        return self.row_of_entry() * n_columns + self.indices

    def take(self, rows: Ints) -> "Ragged":
        """The rows asked for, in that order; a row below 0 is an empty one.

        >>> Ragged.from_pairs(np.array([0, 0, 1]), np.array([3, 7, 5]), n_rows=2).take(np.array([1, -1, 0])).indices
        array([5, 3, 7], dtype=int32)
        """
        safe = np.maximum(rows, 0)
        lengths = np.where(rows < 0, 0, self.lengths()[safe] if self.n_rows else 0)
        indptr = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        within = np.arange(indptr[-1]) - np.repeat(indptr[:-1], lengths)
        entries = np.repeat(self.indptr[safe], lengths) + within
        return Ragged(indptr, self.indices[entries], self.weights[entries])

    def lookup(self, items: Ints) -> Floats:
        """Weight of each item within the row of the same number; 0 where the row lacks it.

        Args:
            items: int32 [n_rows, m], padded with -1.

        Returns:
            float64 [n_rows, m].

        >>> rows = Ragged.from_pairs(np.array([0, 0]), np.array([3, 7]), np.array([0.5, 1.0]), n_rows=2)
        >>> rows.lookup(np.array([[7, 3, 4, -1], [7, 3, 4, -1]], np.int32)).tolist()
        [[1.0, 0.5, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
        """
        check_users("items", items, self.n_rows)
        if len(self.indices) == 0:
            return np.zeros(items.shape)
        n_columns = int(max(self.indices.max(), items.max(initial=0))) + 1
        keys = self.keys(n_columns)
        wanted = np.arange(self.n_rows, dtype=np.int64)[:, None] * n_columns + items
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where((items != PAD) & (keys[place] == wanted), self.weights[place], 0.0)


def check_users(name: str, array: npt.NDArray[np.generic], users: int) -> None:
    """Refuse an array whose first axis is not one row a user.

    Raises:
        InputError: the first axis of `array` is not `users` long.
    """
    if array.ndim == 0 or len(array) != users:
        raise InputError(
            name,
            found=f"shape {array.shape}",
            expected=f"one row for each of {users} users",
            remedy="Pass arrays of the same users in the same order.",
        )


def check_lists(lists: Ints, users: int) -> None:
    """Refuse ranked lists that are not an int [users, k] array.

    Raises:
        InputError: another number of axes, of users, or not integers.
    """
    check_users("ranked lists", lists, users)
    if lists.ndim != 2 or lists.dtype.kind != "i":
        raise InputError(
            "ranked lists",
            found=f"{lists.dtype} {list(lists.shape)}",
            expected="int32 [users, k], padded with -1",
            remedy="Pad short lists with -1 and stack them.",
        )


def _check_pairs(rows: Ints, indices: Ints, n_rows: int) -> None:
    if len(rows) != len(indices):
        found = f"{len(rows)} rows and {len(indices)} indices"
    elif len(rows) and (rows.min() < 0 or rows.max() >= n_rows or indices.min() < 0):
        found = f"rows {rows.min()}..{rows.max()}, smallest index {indices.min()}"
    else:
        return
    raise InputError(
        "pairs",
        found=found,
        expected=f"as many rows as indices, rows within 0..{n_rows - 1}, indices from 0",
        remedy="Drop pairs that name an unknown row or item before building the rows.",
    )
