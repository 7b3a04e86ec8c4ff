"""Rings of a request's anchors, computed for that request: only items that may be returned are scored.

A narrow filter passes over nearly all stored items, so the rings are found anew. Following edges is cheap; scoring is
not, and is done for eligible members only. Of the last ring, which nothing is reached from, what the mask forbids is
not even noted.
"""

from threading import local

import numpy as np

from models.chosen import Rule
from models.graph import Graph
from models.kernels import compiled, read_only
from models.prefetch import LINE, ROW_BYTES, ROWS_AHEAD, prefetch
from models.ring_lists import Scratch, scratch
from models.rings import EDGES_AHEAD, N_RINGS, RingInputs, ring_inputs, stamp_of, trace, walks
from models.selection import RingStore
from models.similarity import Floats, Items, Mask, dot, is_allowed
from models.topk import best, pack, unpack


@compiled
def _follow_last(inputs: RingInputs, anchor: int, ring: int, mask: Mask, room: Scratch) -> int:
    """Append of a ring what the mask (empty = all) allows; where it ends in the queue."""
    queue, seen, begin, end = room.queue, room.seen, room.ends[ring - 2], room.ends[ring - 1]
    tail, masked, stamp = int(end), len(mask) > 0, stamp_of(anchor, ring)
    for place in range(begin, end):
        if place + EDGES_AHEAD < end:
            prefetch(inputs.targets, inputs.offsets[queue[place + EDGES_AHEAD]], 2 * LINE)
        source = queue[place]
        for edge in range(inputs.offsets[source], inputs.offsets[source + 1]):
            target = inputs.targets[edge]
            if (not masked or mask[target]) and seen[target] >> 2 != anchor:
                seen[target] = stamp
                queue[tail] = target
                tail += 1
    return tail


@compiled
def _trace(inputs: RingInputs, anchor: int, max_walks: int, rings: int, mask: Mask, room: Scratch) -> int:
    """As `trace`, but the last ring, unless it is the first, lacks what the mask forbids."""
    if rings == 1:
        return trace(inputs, anchor, max_walks, room.queue, room.seen, room.ends, 1)
    found = trace(inputs, anchor, max_walks, room.queue, room.seen, room.ends, rings - 1)
    if found < rings - 1 or walks(inputs, room.queue, room.ends[0], room.ends[found]) > max_walks:
        return found
    room.ends[rings:] = _follow_last(inputs, anchor, rings, mask, room)
    return rings


@compiled
def _score(
    inputs: RingInputs,
    anchor: int,
    ring: int,
    alpha: float,
    depth: int,
    mask: Mask,
    blocked: Items,
    room: Scratch,
    items: Items,
    scores: Floats,
) -> int:
    """Write the `depth` best eligible members of a ring, best first; how many."""
    first, last, n = room.ends[ring - 1], room.ends[ring], 0
    members, values = np.empty(last - first, np.int32), np.zeros(last - first, np.float32)
    for place in range(first, last):
        item = room.queue[place]
        if is_allowed(item, mask, blocked):
            members[n] = item
            if ring == 1:  # its members come in the order of the anchor's edges
                values[n] = inputs.weights[inputs.offsets[anchor] + place - first]
            n += 1
    for place in range(n):
        if place + ROWS_AHEAD < n:
            prefetch(inputs.embeddings, members[place + ROWS_AHEAD], ROW_BYTES)
        score = dot(inputs.embeddings[anchor], inputs.embeddings[members[place]])
        if ring == 1:
            score += alpha * np.float64(values[place])
        values[place] = score
    keys = np.empty(n, np.int64)
    pack(values[:n], members[:n], keys)
    chosen = best(keys, depth)
    unpack(chosen, scores, items)
    return len(chosen)


@compiled
def _copy(
    known: RingStore, anchor: int, ring: int, depth: int, mask: Mask, blocked: Items, items: Items, scores: Floats
) -> int:
    """Write the first `depth` eligible items of a stored ring; how many."""
    begin, n = known.offsets[anchor], 0
    for place in range(begin + known.ends[anchor, ring - 2], begin + known.ends[anchor, ring - 1]):
        if n < depth and is_allowed(known.items[place], mask, blocked):
            items[n], scores[n] = known.items[place], known.scores[place]
            n += 1
    return n


@compiled
def _eligible(
    inputs: RingInputs,
    known: RingStore,
    first: int,
    second: int,
    limits: tuple[int, int, float, int],
    mask: Mask,
    blocked: Items,
    room: Scratch,
    out: RingStore,
) -> None:
    """Fill `out`, a row for each of one or two anchors; `limits` are rings, depth, alpha and max_walks."""
    rings, depth, alpha, max_walks = limits
    total = np.int64(0)
    out.offsets[0] = total
    for row in range(len(out.ends)):
        anchor, begin = second if row else first, total
        found = _trace(inputs, anchor, max_walks, rings, mask, room)
        for ring in range(1, rings + 1):
            items, scores = out.items[total:], out.scores[total:]
            if ring <= found:
                n = _score(inputs, anchor, ring, alpha, depth, mask, blocked, room, items, scores)
            else:
                n = _copy(known, anchor, ring, depth, mask, blocked, items, scores)
            total += n
            out.ends[row, ring - 1], out.sizes[row, ring - 1] = total - begin, n
        out.ends[row, rings:], out.sizes[row, rings:] = total - begin, 0
        out.offsets[row + 1] = total
        for place in range(room.ends[found]):
            room.seen[room.queue[place]] = -1


class EligibleRings:
    """Computes rings; each thread has room of its own, which is made once.

    Args:
        graph: the transitions.
        embeddings: float32 [n, d], L2-normalised, zero = no text.
        store: all anchors' stored rings, which hold those whole that are defined by probing.
        alpha: weight of the edge in the score of a ring 1 item.
        max_walks: edges that may be followed from an anchor beyond ring 1.
    """

    def __init__(self, graph: Graph, embeddings: Floats, store: RingStore, alpha: float, max_walks: int) -> None:
        self._inputs, self._known = ring_inputs(graph, embeddings), store
        self._alpha, self._max_walks = float(alpha), max_walks
        self._n_items = graph.n_items
        self._kept = local()

    def _room(self) -> Scratch:
        if not hasattr(self._kept, "room"):
            self._kept.room = scratch(self._n_items)
        room: Scratch = self._kept.room
        return room

    def of(self, anchors: tuple[int, ...], rings: int, depth: int, rule: Rule) -> RingStore:
        """The best eligible members of the anchors' first rings, a row an anchor; nothing is said to be missing.

        Args:
            anchors: one or two item indices.
            rings: number of rings wanted, 1 to 3; others are left empty.
            depth: items wanted of each ring.
            rule: what may be returned.
        """
        found = _room_for(len(anchors), depth)
        limits = (rings, depth, self._alpha, self._max_walks)
        _eligible(self._inputs, self._known, anchors[0], anchors[-1], limits, *rule, self._room(), found)
        return RingStore(*(read_only(part) for part in found))


def _room_for(rows: int, depth: int) -> RingStore:
    """Room for the rings of some anchors."""
    return RingStore(
        np.empty(rows + 1, np.int64),
        np.empty((rows, N_RINGS), np.int32),
        np.empty((rows, N_RINGS), np.int32),
        np.empty(rows * N_RINGS * depth, np.int32),
        np.empty(rows * N_RINGS * depth, np.float32),
    )
