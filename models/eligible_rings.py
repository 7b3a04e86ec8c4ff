"""Rings of one anchor, computed for one request: only items that may be returned are scored.

A narrow filter passes over nearly all stored items, so the rings are found anew. Following edges is cheap; scoring is
not, and is done for eligible members only.
"""

from threading import local

import numpy as np

from models.chosen import Rule
from models.kernels import compiled
from models.ring_lists import AnchorRings, Scratch, scratch
from models.rings import N_RINGS, Offsets, RingInputs, trace
from models.similarity import Floats, Items, Mask, dot, is_allowed
from models.topk import best, pack, unpack


@compiled
def _eligible(
    inputs: RingInputs,
    anchor: int,
    alpha: float,
    max_walks: int,
    rings: int,
    mask: Mask,
    blocked: Items,
    room: Scratch,
    ends: Items,
    keys: Offsets,
) -> int:
    found = trace(inputs, anchor, max_walks, room.queue, room.seen, room.ends, rings)
    items, scores = np.empty(room.ends[found], np.int32), np.empty(room.ends[found], np.float32)
    total = 0
    for ring in range(1, N_RINGS + 1):
        first, n = room.ends[ring - 1], 0
        for place in range(first, room.ends[ring] if ring <= found else first):
            item = room.queue[place]
            if is_allowed(item, mask, blocked):
                score = dot(inputs.embeddings[anchor], inputs.embeddings[item])
                if ring == 1:
                    score += alpha * np.float64(inputs.weights[inputs.offsets[anchor] + place - first])
                items[n], scores[n] = item, score
                n += 1
        pack(scores[:n], items[:n], keys[total : total + n])
        keys[total : total + n] = best(keys[total : total + n], n)
        total += n
        ends[ring - 1] = total
    for place in range(room.ends[found]):
        room.seen[room.queue[place]] = -1
    return found


class EligibleRings:
    """Computes rings; each thread has room of its own, which is made once.

    Args:
        inputs: graph and embeddings.
        alpha: weight of the edge in the score of a ring 1 item.
        max_walks: edges that may be followed from an anchor beyond ring 1.
    """

    def __init__(self, inputs: RingInputs, alpha: float, max_walks: int) -> None:
        self._inputs, self._alpha, self._max_walks = inputs, float(alpha), max_walks
        self._n_items = len(inputs.offsets) - 1
        self._kept = local()

    def _room(self) -> tuple[Scratch, Offsets]:
        if not hasattr(self._kept, "room"):
            self._kept.room = scratch(self._n_items), np.empty(self._n_items + 1, np.int64)
        room: tuple[Scratch, Offsets] = self._kept.room
        return room

    def of(self, anchor: int, rings: int, rule: Rule) -> AnchorRings:
        """The eligible members of the first `rings` rings, as far as `max_walks` allows; those beyond are empty.

        Args:
            anchor: item index.
            rings: number of rings wanted, 1 to 3.
            rule: what may be returned.
        """
        room, keys = self._room()
        ends: Items = np.empty(N_RINGS, np.int32)
        found = _eligible(self._inputs, anchor, self._alpha, self._max_walks, rings, *rule, room, ends, keys)
        total = int(ends[-1])
        items: Items = np.empty(total, np.int32)
        scores: Floats = np.empty(total, np.float32)
        unpack(keys[:total], scores, items)
        return AnchorRings(items, scores, ends, found)
