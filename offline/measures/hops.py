"""How far the target lies from the last item in the transition graph: coverage, and recall by hop distance.

Distances follow the rings of the graph heuristic (arXiv 2605.07125): ring l holds the items first reached at exactly l
steps; the anchor itself is in no ring unless it has an edge to itself, which is one hop.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from models.errors import InputError
from offline.measures.arrays import PAD, Floats, Ints, Longs, Ragged, check_users
from offline.measures.ranking import hits_at

DEPTH = 3
BEYOND = 0
"""Distance of a target that is not within the depth asked for."""
BLOCK_USERS = 512


@dataclass(frozen=True, slots=True)
class HopRecall:
    """Recall at one distance.

    Attributes:
        hop: 1, 2, 3, or 0 (`BEYOND`) for the rest.
        users: users whose target lies there.
        recall: share of them whose target is in the top k; NaN without users.
    """

    hop: int
    users: int
    recall: float


def hop_distances(graph: Ragged, anchors: Ints, targets: Ints, depth: int = DEPTH) -> Ints:
    """Breadth-first distance of each user's target from the user's last item, up to a depth.

    Args:
        graph: one row an item: the items that directly follow it.
        anchors: int32 [users], last item before the target, -1 = no history.
        targets: int32 [users], -1 = no target.
        depth: greatest distance looked for, >= 1.

    Returns:
        int32 [users]: 1..depth, or 0 (`BEYOND`).

    Raises:
        InputError: anchors and targets are of different users, or an index lies outside the graph.

    >>> graph = Ragged.from_pairs(np.array([0, 1, 2, 3]), np.array([1, 2, 3, 4]), n_rows=5)
    >>> hop_distances(graph, np.array([0, 0, 0, 0, 2]), np.array([1, 3, 4, 0, 2])).tolist()
    [1, 3, 0, 0, 0]
    """
    check_users("targets", targets, len(anchors))
    _check_items(graph, anchors, targets)
    step = csr_array(
        (np.ones(len(graph.indices), np.float32), graph.indices, graph.indptr), shape=(graph.n_rows, graph.n_rows)
    )
    back = csr_array(step.T)
    distances = np.full(len(anchors), BEYOND, np.int32)
    asked = np.flatnonzero((anchors != PAD) & (targets != PAD))
    for start in range(0, len(asked), BLOCK_USERS):
        users = asked[start : start + BLOCK_USERS]
        distances[users] = _block_distances(step, back, anchors[users], targets[users], depth)
    return distances


def _block_distances(step: csr_array, back: csr_array, anchors: Ints, targets: Ints, depth: int) -> Ints:
    """Grow what the anchors reach until it touches what reaches the targets in one step.

    The last step is taken backwards from the target, whose row is short, instead of forwards from a wide ring. A target
    that is its own anchor goes no further than the first hop: a way back to it is no ring.
    """
    distances = np.full(len(anchors), BEYOND, np.int32)
    open_users = np.arange(len(anchors))
    reached = _indicator(anchors, step.shape[0])
    for hop in range(1, depth + 1):
        before = _flat(back[targets[open_users]])
        touched = np.asarray(reached.multiply(before).sum(axis=1)).ravel() > 0
        distances[open_users[touched]] = hop
        going_on = ~touched & (anchors[open_users] != targets[open_users])
        open_users = open_users[going_on]
        if hop == depth or not len(open_users):
            break
        reached = _flat(reached[np.flatnonzero(going_on)] @ step)
    return distances


def _indicator(items: Ints, n_items: int) -> csr_array:
    """One row a user with a 1 at the user's item."""
    indptr = np.arange(len(items) + 1)
    return csr_array((np.ones(len(items), np.float32), items, indptr), shape=(len(items), n_items))


def _flat(matrix: csr_array) -> csr_array:
    """The same pattern with every entry 1, so that path counts cannot overflow."""
    matrix = csr_array(matrix)
    matrix.data = np.ones_like(matrix.data)
    return matrix


def coverage(distances: Ints, depth: int = DEPTH) -> Floats:
    """Cov@1, 2, ...: share of users whose target lies within so many hops of the last item: float64 [depth].

    >>> coverage(np.array([1, 3, 0, 0])).tolist()
    [0.25, 0.25, 0.5]
    """
    if not len(distances):
        return np.full(depth, np.nan)
    counts = np.bincount(distances, minlength=depth + 1)[1 : depth + 1]
    return np.cumsum(counts) / len(distances)


def recall_by_hop(ranks: Ints, distances: Ints, k: int, depth: int = DEPTH) -> list[HopRecall]:
    """Recall@k of the users at each distance, nearest first, those beyond the depth last.

    >>> [(r.hop, r.users, r.recall) for r in recall_by_hop(np.array([1, 0, 5]), np.array([1, 1, 0]), k=10)]
    [(1, 2, 0.5), (2, 0, nan), (3, 0, nan), (0, 1, 1.0)]
    """
    check_users("distances", distances, len(ranks))
    users: Longs = np.bincount(distances, minlength=depth + 1)
    hits = np.bincount(distances, hits_at(ranks, k), minlength=depth + 1)
    shares = np.divide(hits, users, out=np.full(depth + 1, np.nan), where=users > 0)
    return [HopRecall(hop, int(users[hop]), float(shares[hop])) for hop in (*range(1, depth + 1), BEYOND)]


def _check_items(graph: Ragged, anchors: Ints, targets: Ints) -> None:
    top = int(max(anchors.max(initial=PAD), targets.max(initial=PAD), graph.indices.max(initial=PAD)))
    if top >= graph.n_rows:
        raise InputError(
            "transition graph",
            found=f"item index {top}",
            expected=f"indices below the graph's {graph.n_rows} items",
            remedy="Use the graph and the split of the same bundle.",
        )
