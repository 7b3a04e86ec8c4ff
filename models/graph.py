"""The transition graph: which item followed which in training sequences, how often, and the weight of that edge.

Source: arXiv 2605.07125 (TGH), section on the transition graph.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from models.errors import InputError
from models.retrieval import Items

Counts = npt.NDArray[np.int32]
Offsets = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Graph:
    """Edges by source (compressed rows); every array may be memory-mapped.

    Attributes:
        offsets: int64 [n + 1], edges of item i lie at offsets[i]:offsets[i + 1].
        targets: int32 [E], the item that followed, ascending within a row.
        counts: int32 [E], how often it followed.
        weights: float32 [E], in (0, 1], 1 for the most frequent edge of a row.
    """

    offsets: Offsets
    targets: Items
    counts: Counts
    weights: Floats

    @property
    def n_items(self) -> int:
        """Catalogue size."""
        return len(self.offsets) - 1


def row_offsets(rows: npt.NDArray[Any], n_rows: int) -> Offsets:
    """int64 [n_rows + 1]: where each row starts, given the row of each value in ascending order.

    >>> row_offsets(np.array([0, 0, 2]), 4).tolist()
    [0, 2, 2, 3, 3]
    """
    offsets = np.zeros(n_rows + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=n_rows), out=offsets[1:])
    return offsets


def edge_weights(offsets: Offsets, counts: Counts) -> Floats:
    """`w_ij = log(1 + N_ij) / max_j' log(1 + N_ij')`, float32 [E].

    >>> [f"{weight:.6f}" for weight in edge_weights(np.array([0, 3]), np.array([4, 2, 1], np.int32))]
    ['1.000000', '0.682606', '0.430677']
    """
    logs = np.log1p(counts.astype(np.float64))
    degrees = np.diff(offsets)
    starts = offsets[:-1][degrees > 0]
    if not len(starts):
        return np.empty(0, np.float32)
    greatest = np.maximum.reduceat(logs, starts)
    weights: Floats = (logs / np.repeat(greatest, degrees[degrees > 0])).astype(np.float32)
    return weights


def _check(sources: Items, targets: Items, counts: npt.NDArray[np.int64], n_items: int) -> None:
    least, most = (min(sources.min(), targets.min()), max(sources.max(), targets.max())) if len(sources) else (0, -1)
    if least < 0 or most >= n_items:
        raise InputError(
            "transitions",
            found=f"item indices {least} to {most}",
            expected=f"0 to {n_items - 1}",
            remedy="Index the interactions with the ids of this catalogue.",
        )
    if len(counts) and counts.min() < 1:
        raise InputError(
            "transitions",
            found=f"a count of {counts.min()}",
            expected="1 or more",
            remedy="Count only transitions that occur.",
        )


def build_graph(sources: Items, targets: Items, counts: npt.NDArray[np.int64], n_items: int) -> Graph:
    """The graph of (source, target, count) triples in any order; repeated pairs add up.

    >>> graph = build_graph(*np.array([[0, 0, 2], [2, 1, 2], [1, 4, 1]]), n_items=3)
    >>> graph.offsets.tolist(), graph.targets.tolist(), graph.counts.tolist()
    ([0, 2, 2, 3], [1, 2, 2], [4, 1, 1])

    Raises:
        InputError: an index outside the catalogue, or a count below 1.
    """
    _check(sources, targets, counts, n_items)
    keys = sources.astype(np.int64) * n_items + targets
    if not np.all(keys[1:] > keys[:-1]):
        sources, targets, counts = _added_up(keys, sources, targets, counts)
    offsets = row_offsets(sources, n_items)
    edge_counts = counts.astype(np.int32)
    return Graph(offsets, targets.astype(np.int32, copy=False), edge_counts, edge_weights(offsets, edge_counts))


def _added_up(
    keys: npt.NDArray[np.int64], sources: Items, targets: Items, counts: npt.NDArray[np.int64]
) -> tuple[Items, Items, npt.NDArray[np.int64]]:
    """Triples in the order of their keys, one a key."""
    order = np.argsort(keys, kind="stable")
    first = np.flatnonzero(np.diff(keys[order], prepend=-1))
    kept = order[first]
    return sources[kept], targets[kept], np.add.reduceat(counts[order], first)
