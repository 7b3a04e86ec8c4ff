"""Hop rings of an anchor and its scored ring lists. Source: arXiv 2605.07125 (TGH).

Ring l of an anchor holds the items first reached at exactly l steps; the anchor itself belongs to none, except to
ring 1 by an edge to itself. A ring is found by following the edges that leave the ring before it. Where that would
follow more than `max_walks` edges from one anchor, the ring is probed: those of its text neighbours that lie in it.
(Rings 2 and 3 are ranked by cosine, so its text neighbours are the head of such a ring.)
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from models.graph import Graph, row_offsets
from models.kernels import compiled, inlined, read_only
from models.prefetch import LINE, prefetch
from models.similarity import Floats, Items

Offsets = npt.NDArray[np.int64]
N_RINGS = 3
EDGES_AHEAD, STAMPS_AHEAD = 6, 2
"""Items of a queue, found to serve best."""


@dataclass(frozen=True, slots=True)
class RingConfig:
    """How ring lists are computed and stored.

    Attributes:
        alpha: weight of the edge in the score of a ring 1 item.
        depth: items stored of rings 1, 2 and 3; a query that needs more computes its rings anew.
        max_walks: edges followed from one anchor, which bounds the summed size of its rings; a ring that would need
            more is probed.
        block: anchors computed together; memory is one block.
        sample: probed anchors whose recall is measured against the exact rings.
    """

    alpha: float = 0.5
    depth: tuple[int, int, int] = (256, 256, 128)
    max_walks: int = 131_072
    block: int = 4096
    sample: int = 100


class RingInputs(NamedTuple):
    """What rings are computed from; read-only arrays, maybe memory-mapped.

    Attributes:
        offsets: int64 [n + 1], rows of the graph.
        targets: int32 [E], ascending within a row.
        weights: float32 [E].
        embeddings: float32 [n, d], L2-normalised, zero = no text.
    """

    offsets: Offsets
    targets: Items
    weights: Floats
    embeddings: Floats


class Reverse(NamedTuple):
    """The graph backwards: items that an item followed.

    Attributes:
        offsets: int64 [n + 1].
        sources: int32 [E].
    """

    offsets: Offsets
    sources: Items


def ring_inputs(graph: Graph, embeddings: Floats) -> RingInputs:
    """Read-only views of a graph and its items' embeddings."""
    arrays = (graph.offsets, graph.targets, graph.weights, np.ascontiguousarray(embeddings))
    return RingInputs(*(read_only(np.asarray(array)) for array in arrays))


def reverse(graph: Graph) -> Reverse:
    """The transposed graph, sources ascending within a row."""
    offsets = row_offsets(graph.targets, graph.n_items)
    sources = np.empty(len(graph.targets), np.int32)
    _fill_reverse(read_only(np.asarray(graph.offsets)), read_only(np.asarray(graph.targets)), offsets.copy(), sources)
    return Reverse(read_only(offsets), read_only(sources))


@compiled
def _fill_reverse(offsets: Offsets, targets: Items, free: Offsets, sources: Items) -> None:
    """Write each edge's source to the next free place of its target's row."""
    for source in range(len(offsets) - 1):
        for edge in range(offsets[source], offsets[source + 1]):
            target = targets[edge]
            sources[free[target]] = source
            free[target] += 1


@compiled
def stamp_of(anchor: int, ring: int) -> int:
    """Says of an item that it lies in this ring of this anchor; stamps of other anchors need no clearing."""
    return (anchor << 2) | ring


@inlined
def _ask_ahead(inputs: RingInputs, queue: Items, place: int, end: int, seen: Items) -> None:
    """Have the edges of later items at hand, and the stamps of their targets: they lie all over memory."""
    if place + EDGES_AHEAD < end:
        prefetch(inputs.targets, inputs.offsets[queue[place + EDGES_AHEAD]], 2 * LINE)
    if place + STAMPS_AHEAD < end:
        source = queue[place + STAMPS_AHEAD]
        for edge in range(inputs.offsets[source], min(inputs.offsets[source] + LINE // 4, inputs.offsets[source + 1])):
            prefetch(seen, inputs.targets[edge], LINE)


@compiled
def _follow(inputs: RingInputs, anchor: int, ring: int, begin: int, end: int, queue: Items, seen: Items) -> int:
    """Append the next ring, reached from queue[begin:end]; where it ends in the queue."""
    tail = end
    for place in range(begin, end):
        _ask_ahead(inputs, queue, place, end, seen)
        source = queue[place]
        for edge in range(inputs.offsets[source], inputs.offsets[source + 1]):
            target = inputs.targets[edge]
            if seen[target] >> 2 != anchor:
                seen[target] = stamp_of(anchor, ring)
            elif ring != 1 or target != anchor:
                continue
            queue[tail] = target
            tail += 1
    return tail


@compiled
def walks(inputs: RingInputs, queue: Items, begin: int, end: int) -> int:
    """Edges that leave the items of queue[begin:end]."""
    total = 0
    for place in range(begin, end):
        total += inputs.offsets[queue[place] + 1] - inputs.offsets[queue[place]]
    return total


@compiled
def trace(
    inputs: RingInputs, anchor: int, max_walks: int, queue: Items, seen: Items, ends: Items, rings: int = N_RINGS
) -> int:
    """Find the rings of one anchor that `max_walks` allows.

    Args:
        inputs: graph and embeddings.
        anchor: item index.
        max_walks: edges that may be followed beyond ring 1.
        queue: int32 [n + 1], room for the anchor and its rings, one after another.
        seen: int32 [n], stamps; at first -1, then as earlier anchors left it.
        ends: int32 [4], filled with where the anchor (1) and each ring end in the queue.
        rings: number of rings wanted, 1 to 3.

    Returns:
        The number of rings found; ring 1 always is. Later ones are left empty.
    """
    queue[0], seen[anchor] = anchor, stamp_of(anchor, 0)
    ends[0] = 1
    ends[1:] = _follow(inputs, anchor, 1, 0, 1, queue, seen)
    walked = 0
    for ring in range(2, rings + 1):
        walked += walks(inputs, queue, ends[ring - 2], ends[ring - 1])
        if walked > max_walks:
            return ring - 1
        ends[ring:] = _follow(inputs, anchor, ring, ends[ring - 2], ends[ring - 1], queue, seen)
    return rings
