"""One step of a constrained beam: the best children that exist and lead to an allowed item, without touching the rest.

The kernel walks the children of each beam (contiguous nodes), keeps the best `width` in a heap and asks for
availability only of children that would enter it. Nothing as wide as the vocabulary or the catalogue is ever made.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from models.kernels import compiled
from models.neural.allowed import Allowed, Words, any_allowed
from models.neural.trie import Int32s, Level

Float32s = npt.NDArray[np.float32]
Score = float | np.float32
NO_KEYS: Int32s = np.empty(0, np.int32)


@dataclass(frozen=True, slots=True)
class Frontier:
    """The kept prefixes of one request, best first (ties: lower node; among leaves lower item index).

    Attributes:
        nodes: int32 [w]: nodes of the current level.
        parents: int32 [w]: position of each node's parent in the frontier before.
        scores: float32 [w]: sums of log-probabilities.
        pruned: the best score of a prefix that was dropped at any step so far, -inf if none was.
    """

    nodes: Int32s
    parents: Int32s
    scores: Float32s
    pruned: float


ROOT = Frontier(np.zeros(1, np.int32), np.zeros(1, np.int32), np.zeros(1, np.float32), float("-inf"))


def advance(
    frontier: Frontier, level: Level, allowed: Allowed, log_probabilities: Float32s, width: int, keys: Int32s = NO_KEYS
) -> Frontier:
    """The best `width` allowed children of all nodes of a frontier.

    Args:
        frontier: nodes of the level above `level` (`ROOT` before the first step).
        level: the children's level.
        allowed: which leaves may be returned.
        log_probabilities: float32 [w, codebook], row i = the next code's after frontier node i.
        width: beam width, >= 1.
        keys: int32 by node: what breaks ties, lower first; the node number itself when empty.
    """
    scores, nodes, parents = np.empty(width, np.float32), np.empty(width, np.int32), np.empty(width, np.int32)
    bitmap = allowed.bitmap
    size, pruned = _fill(
        level.starts, level.codes, level.leaves, bitmap.words, bitmap.before, allowed.blocked, frontier.nodes,
        frontier.scores, log_probabilities, keys, scores, nodes, parents,
    )  # fmt: skip
    return Frontier(nodes[:size], parents[:size], scores[:size], max(float(pruned), frontier.pruned))


@compiled
def _fill(
    starts: Int32s,
    codes: Int32s,
    leaves: Int32s,
    words: Words,
    before: Int32s,
    blocked: Int32s,
    nodes: Int32s,
    scores: Float32s,
    log_probabilities: Float32s,
    keys: Int32s,
    heap_scores: Float32s,
    heap_nodes: Int32s,
    heap_parents: Int32s,
) -> tuple[int, Score]:
    """Fill a heap, worst entry first, and sort it, best first; its size and the best score that was dropped."""
    size, width = 0, len(heap_scores)
    pruned: Score = -np.inf
    for parent in range(len(nodes)):
        for node in range(starts[nodes[parent]], starts[nodes[parent] + 1]):
            score = np.float32(scores[parent] + log_probabilities[parent, codes[node]])
            enters = size < width or _worse(heap_scores[0], heap_nodes[0], score, node, keys)
            if not enters and score <= pruned:
                continue
            if not any_allowed(words, before, blocked, leaves[node], leaves[node + 1]):
                continue
            if not enters:
                pruned = score
            elif size < width:
                _sift_up(heap_scores, heap_nodes, heap_parents, size, score, node, parent, keys)
                size += 1
            else:
                pruned = max(pruned, heap_scores[0])
                _sift_down(heap_scores, heap_nodes, heap_parents, size, score, node, parent, keys)
    for end in range(size - 1, 0, -1):
        score, node, parent = heap_scores[end], heap_nodes[end], heap_parents[end]
        heap_scores[end], heap_nodes[end], heap_parents[end] = heap_scores[0], heap_nodes[0], heap_parents[0]
        _sift_down(heap_scores, heap_nodes, heap_parents, end, score, node, parent, keys)
    return size, pruned


@compiled
def _worse(score: Score, node: int, other_score: Score, other_node: int, keys: Int32s) -> bool:
    """Whether the first entry ranks below the other."""
    if score != other_score:
        return bool(score < other_score)
    if len(keys):
        return keys[node] > keys[other_node]  # type: ignore[no-any-return]
    return node > other_node


@compiled
def _sift_up(
    scores: Float32s, nodes: Int32s, parents: Int32s, size: int, score: Score, node: int, parent: int, keys: Int32s
) -> None:
    """Add an entry to a heap of `size` entries."""
    at = size
    while at > 0:
        up = (at - 1) >> 1
        if not _worse(score, node, scores[up], nodes[up], keys):
            break
        scores[at], nodes[at], parents[at] = scores[up], nodes[up], parents[up]
        at = up
    scores[at], nodes[at], parents[at] = score, node, parent


@compiled
def _sift_down(
    scores: Float32s, nodes: Int32s, parents: Int32s, size: int, score: Score, node: int, parent: int, keys: Int32s
) -> None:
    """Replace the worst entry of a heap of `size` entries."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and _worse(scores[child + 1], nodes[child + 1], scores[child], nodes[child], keys):
            child += 1
        if not _worse(scores[child], nodes[child], score, node, keys):
            break
        scores[at], nodes[at], parents[at] = scores[child], nodes[child], parents[child]
        at = child
    scores[at], nodes[at], parents[at] = score, node, parent
