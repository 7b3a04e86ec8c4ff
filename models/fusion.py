"""The mixture behind `fused`: what DR, the transition graph, the texts and the item value say, as one sum.

    score(c) = cos(q, c) + edge * sum_a d^a w_ac + text * sum_a t^a e_a . e_c + prior * v_c

where q is DR's query vector, a = 0, 1, 2... are the last items, newest first, w the edge weights and e the text
embeddings of DESIGN's transition graph and TGH, and v the static item value. It is summed over a pool: DR's nearest
items, what directly followed the last items, and the text neighbours of the last one.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from models.kernels import compiled
from models.similarity import Floats, Items, dot
from models.sorted_search import lower_bound

Offsets = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class FusionWeights:
    """Weights of the sum, chosen on the validation split of Toys; not a request's business."""

    edge: float = 0.1
    """Weight of transitions from the last items."""
    edge_decay: float = 0.6
    """Factor from one item to the one before it."""
    text: float = 0.1
    """Weight of texts near the last items'."""
    text_decay: float = 0.3
    """Factor from one item to the one before it."""
    prior: float = 0.02
    """Weight of the item value."""
    anchors: int = 5
    """Last items that count."""
    pool: int = 200
    """DR's items in the pool; k where that is greater."""


def fused_scores(
    items: Items, similarities: Floats, values: Floats, anchors: Items, graph: tuple[Offsets, Items, Floats],
    embeddings: Floats, weights: FusionWeights,
) -> Floats:  # fmt: skip
    """float32 [p] scores of a pool.

    Args:
        items: int32 [p].
        similarities: float32 [p]: cosine with the query vector.
        values: float32 [p]: static item values.
        anchors: int32: the last items, newest first.
        graph: int64 offsets, int32 targets (ascending in a row), float32 weights of the transition graph.
        embeddings: float32 [n, d].
        weights: of the sum.
    """
    parts = np.zeros((2, len(items)), np.float64)
    _anchored(
        items, anchors, *graph, embeddings, weights.edge_decay, weights.text_decay, parts
    )  # fmt: skip
    total: Floats = (similarities + weights.edge * parts[0] + weights.text * parts[1] + weights.prior * values).astype(
        np.float32
    )
    return total


@compiled
def cosines(vectors: Floats, items: Items, query: Floats) -> Floats:
    """float32 [p]: inner product of each item's row with the query, summed as `models.similarity.dot` does."""
    found = np.empty(len(items), np.float32)
    for place in range(len(items)):
        found[place] = dot(vectors[items[place]], query)
    return found


@compiled
def _anchored(
    items: Items,
    anchors: Items,
    offsets: Offsets,
    targets: Items,
    edge_weights: Floats,
    embeddings: Floats,
    edge_decay: float,
    text_decay: float,
    parts: npt.NDArray[np.float64],
) -> None:
    """Add what transitions (row 0) and texts (row 1) say of each item."""
    for place in range(len(items)):
        edge_factor, text_factor, item = 1.0, 1.0, items[place]
        for anchor in anchors:
            parts[0, place] += edge_factor * edge_weight(offsets, targets, edge_weights, anchor, item)
            parts[1, place] += text_factor * dot(embeddings[anchor], embeddings[item])
            edge_factor *= edge_decay
            text_factor *= text_decay


@compiled
def edge_weight(offsets: Offsets, targets: Items, weights: Floats, source: int, target: int) -> float:
    """Weight of an edge, 0 where there is none."""
    end = offsets[source + 1]
    place = lower_bound(targets, offsets[source], end, target)
    return float(weights[place]) if place < end and targets[place] == target else 0.0
