"""Scored ring lists of every anchor, computed offline block by block: what serving TGH looks up.

Score of item c for anchor s: `e_s . e_c`, plus `alpha * w_sc` in ring 1 (arXiv 2605.07125, TGH).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from threading import get_ident
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from models.kernels import compiled, read_only
from models.prefetch import ROW_BYTES, ROWS_AHEAD, prefetch
from models.ring_pairs import Pairs, kept_room, next_scores, score_pairs
from models.rings import N_RINGS, Offsets, Reverse, RingConfig, RingInputs, stamp_of, trace
from models.similarity import Floats, Items, dot
from models.topk import best, pack, unpack

NO_LIMIT = 2**62


class Scratch(NamedTuple):
    """Room that the anchors of a block share: see `trace`."""

    queue: Items
    seen: Items
    ends: Items


def scratch(n_items: int) -> Scratch:
    """Fresh room for a catalogue of that size."""
    return Scratch(np.empty(n_items + 1, np.int32), np.full(n_items, -1, np.int32), np.empty(N_RINGS + 1, np.int32))


@compiled
def _best(scores: Floats, members: Items, depth: int) -> Offsets:
    keys = np.empty(len(members), np.int64)
    pack(scores, members, keys)
    return best(keys, depth)


@compiled
def score_ring(inputs: RingInputs, anchor: int, ring: int, members: Items, alpha: float, depth: int) -> Offsets:
    """Keys of the `depth` best of a ring's members, best first; ring 1 comes in the order of the anchor's edges."""
    scores = np.empty(len(members), np.float32)
    first_edge = inputs.offsets[anchor]
    for place in range(len(members)):
        if place + ROWS_AHEAD < len(members):
            prefetch(inputs.embeddings, members[place + ROWS_AHEAD], ROW_BYTES)
        score = dot(inputs.embeddings[anchor], inputs.embeddings[members[place]])
        if ring == 1:
            score += alpha * np.float64(inputs.weights[first_edge + place])
        scores[place] = score
    return _best(scores, members, depth)


@compiled
def _follows(reverse: Reverse, item: int, stamp: int, seen: Items) -> bool:
    """Whether an item is reached in one step from an item with that stamp."""
    for place in range(reverse.offsets[item], reverse.offsets[item + 1]):
        if seen[reverse.sources[place]] == stamp:
            return True
    return False


@compiled
def _follows_unseen(reverse: Reverse, item: int, stamp: int, seen: Items) -> bool:
    """Whether an item is reached in two steps from an item with that stamp."""
    for place in range(reverse.offsets[item], reverse.offsets[item + 1]):
        if _follows(reverse, reverse.sources[place], stamp, seen):
            return True
    return False


@compiled
def _probe(reverse: Reverse, anchor: int, ring: int, found: int, neighbours: Items, room: Scratch) -> None:
    """Append those neighbours that lie in a ring; `found` rings are known in full."""
    tail, first = room.ends[ring - 1], room.ends[ring - 1]
    for item in neighbours:
        if item < 0 or room.seen[item] >> 2 == anchor:
            continue
        if ring - found == 1:
            inside = _follows(reverse, item, stamp_of(anchor, found), room.seen)
        else:
            inside = _follows_unseen(reverse, item, stamp_of(anchor, found), room.seen)
        if inside:
            room.queue[tail] = item
            tail += 1
    for place in range(first, tail):
        room.seen[room.queue[place]] = stamp_of(anchor, ring)
    room.ends[ring:] = tail


class Lists(NamedTuple):
    """Ring lists of a block being made: see `RingBlock`; keys are what `pack` makes of items and scores."""

    keys: Offsets
    ends: Items
    sizes: Items
    found: Items


@compiled
def _find(
    inputs: RingInputs,
    reverse: Reverse,
    neighbours: Items,
    max_walks: int,
    anchors: Items,
    seen: Items,
    found: Items,
    pairs: Pairs,
) -> int:
    """Rings of the first anchors, as many as there is room for; their number."""
    tail, row, most = 0, 0, min(len(anchors), len(pairs.starts))
    while row < most and tail + len(inputs.offsets) <= len(pairs.members):
        anchor = anchors[row]
        room = Scratch(pairs.members[tail:], seen, pairs.ends[row])
        found[row] = trace(inputs, anchor, max_walks, room.queue, room.seen, room.ends)
        for ring in range(found[row] + 1, N_RINGS + 1):
            _probe(reverse, anchor, ring, found[row], neighbours[anchor], room)
        pairs.starts[row] = tail
        tail += room.ends[N_RINGS]
        row += 1
    return row


@compiled
def _choose(
    inputs: RingInputs,
    anchors: Items,
    row: int,
    alpha: float,
    depth: tuple[int, int, int],
    pairs: Pairs,
    lists: Lists,
    first: int,
    begin: int,
) -> int:
    """Write the lists of one anchor; where they end."""
    total = begin
    for ring in range(1, N_RINGS + 1):
        start = pairs.starts[row]
        members = pairs.members[start + pairs.ends[row, ring - 1] : start + pairs.ends[row, ring]]
        kept = depth[ring - 1] if ring <= lists.found[first + row] else len(members)
        if ring == 1:
            chosen = score_ring(inputs, anchors[row], ring, members, alpha, kept)
        else:
            chosen = _best(next_scores(pairs, members), members, kept)
        lists.keys[total : total + len(chosen)] = chosen
        total += len(chosen)
        lists.ends[first + row, ring - 1], lists.sizes[first + row, ring - 1] = total - begin, len(members)
    return total


@compiled
def _block(
    inputs: RingInputs,
    reverse: Reverse,
    neighbours: Items,
    limits: tuple[float, int, int, int, int],
    anchors: Items,
    seen: Items,
    pairs: Pairs,
    lists: Lists,
) -> int:
    alpha, max_walks = limits[0], limits[1]
    depth = (limits[2], limits[3], limits[4])
    total, first = 0, 0
    while first < len(anchors):
        rows = _find(inputs, reverse, neighbours, max_walks, anchors[first:], seen, lists.found[first:], pairs)
        some = anchors[first : first + rows]
        score_pairs(inputs.embeddings, some, 1, pairs)
        for row in range(rows):
            total = _choose(inputs, some, row, alpha, depth, pairs, lists, first, total)
        first += rows
    return total


@dataclass(frozen=True, slots=True)
class RingBlock:
    """Ring lists of some anchors.

    Attributes:
        items: int32, rings 1, 2, 3 of the first anchor, then of the next...; best first.
        scores: float32, of each.
        ends: int32 [anchors, 3], where each ring ends within its anchor's list.
        sizes: int32 [anchors, 3], sizes before the cut to the stored depth; of a probed ring, the members found, all
            of which are stored.
        found: int32 [anchors], rings known in full; later ones were probed.
    """

    items: Items
    scores: Floats
    ends: Items
    sizes: Items
    found: Items


def ring_block(
    inputs: RingInputs, backwards: Reverse, neighbours: Items, config: RingConfig, anchors: Items
) -> RingBlock:
    """Ring lists of some anchors, on one core.

    Args:
        inputs: graph and embeddings.
        backwards: the graph reversed.
        neighbours: int32 [n, m], text neighbours, padded with -1.
        config: alpha, depth, limits.
        anchors: int32 [anchors].
    """
    rows = len(anchors)
    lists = Lists(
        np.empty(rows * (sum(config.depth) + (N_RINGS - 1) * neighbours.shape[1]), np.int64),
        np.empty((rows, N_RINGS), np.int32),
        np.empty((rows, N_RINGS), np.int32),
        np.empty(rows, np.int32),
    )
    limits = (float(config.alpha), config.max_walks, *config.depth)
    seen, pairs = np.full(len(inputs.offsets) - 1, -1, np.int32), kept_room(get_ident(), inputs.embeddings.shape)
    total = _block(inputs, backwards, neighbours, limits, read_only(anchors), seen, pairs, lists)
    items, scores = np.empty(total, np.int32), np.empty(total, np.float32)
    unpack(lists.keys[:total], scores, items)
    return RingBlock(items, scores, lists.ends, lists.sizes, lists.found)


def ring_blocks(inputs: RingInputs, backwards: Reverse, neighbours: Items, config: RingConfig) -> Iterator[RingBlock]:
    """Ring lists of all anchors in index order, `config.block` of them at a time; arguments as in `ring_block`."""
    n_items = len(inputs.offsets) - 1
    for first in range(0, n_items, config.block):
        anchors = np.arange(first, min(first + config.block, n_items), dtype=np.int32)
        yield ring_block(inputs, backwards, neighbours, config, anchors)


@compiled
def rescore_first(
    inputs: RingInputs, anchors: Items, starts: Offsets, alpha: float, depth: int, items: Items, scores: Floats
) -> None:
    """Write ring 1 of anchors whose targets are as before but whose weights are not, into lists that hold the rest.

    Args:
        inputs: graph and embeddings.
        anchors: int32 [a].
        starts: int64 [a], where each anchor's list starts.
        alpha: weight of the edge.
        depth: items stored of ring 1.
        items: int32, written.
        scores: float32, written.
    """
    for place in range(len(anchors)):
        anchor, start = anchors[place], starts[place]
        members = inputs.targets[inputs.offsets[anchor] : inputs.offsets[anchor + 1]]
        keys = score_ring(inputs, anchor, 1, members, alpha, depth)
        unpack(keys, scores[start : start + len(keys)], items[start : start + len(keys)])


@dataclass(frozen=True, slots=True)
class AnchorRings:
    """Rings of one anchor in full, computed now.

    Attributes:
        items: int32, rings 1, 2, 3, each best first.
        scores: float32, of each.
        ends: int32 [3], where each ring ends.
        found: rings known in full; later ones are empty here.
    """

    items: Items
    scores: Floats
    ends: Items
    found: int


@compiled
def _whole(inputs: RingInputs, anchor: int, alpha: float, max_walks: int, room: Scratch, keys: Offsets) -> int:
    found = trace(inputs, anchor, max_walks, room.queue, room.seen, room.ends)
    for ring in range(1, found + 1):
        members = room.queue[room.ends[ring - 1] : room.ends[ring]]
        keys[room.ends[ring - 1] - 1 : room.ends[ring] - 1] = score_ring(
            inputs, anchor, ring, members, alpha, len(members)
        )
    return found


def anchor_rings(inputs: RingInputs, anchor: int, alpha: float, max_walks: int = NO_LIMIT) -> AnchorRings:
    """All members of the rings that `max_walks` allows; equals what `ring_blocks` stores of them, without a cut."""
    room = scratch(len(inputs.offsets) - 1)
    keys: npt.NDArray[np.int64] = np.empty(len(room.queue), np.int64)
    found = _whole(inputs, anchor, float(alpha), max_walks, room, keys)
    total = int(room.ends[found]) - 1
    items, scores = np.empty(total, np.int32), np.empty(total, np.float32)
    unpack(keys[:total], scores, items)
    return AnchorRings(items, scores, room.ends[1:] - 1, found)
