"""Cosine between text embeddings, and the nearest items of one.

Products are summed in double precision and rounded once, so that the order of summation, which differs between
machines and between one item and many, does not show in the float32 result.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from models.kernels import compiled, compiled_sum
from models.prefetch import ROW_BYTES, ROWS_AHEAD, prefetch
from models.sorted_search import lower_bound
from models.topk import Keys, best, listed, pack

Floats = npt.NDArray[np.float32]
Items = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]


@compiled_sum
def dot(left: Floats, right: npt.NDArray[np.floating[Any]]) -> float:
    """Inner product of two float32 [d] rows, float64; one that meets many may be float64 already."""
    total = 0.0
    for place in range(len(left)):
        total += np.float64(left[place]) * np.float64(right[place])
    return total


@compiled
def is_blank(row: Floats) -> bool:
    """Whether an embedding is the zero row of an item without text."""
    return not np.any(row)


@compiled
def is_allowed(item: int, mask: Mask, blocked: Items) -> bool:
    """Whether an item may be returned: `mask` (empty = all) allows it and `blocked` (sorted) lacks it."""
    if len(mask) and not mask[item]:
        return False
    place = lower_bound(blocked, 0, len(blocked), item)
    return place == len(blocked) or blocked[place] != item


@compiled
def nearest_of(embeddings: Floats, anchor: int, items: Items, depth: int) -> Keys:
    """Keys of those of some items that have a text and are nearest to an anchor, itself left out, best first."""
    members, scores, found = np.empty(len(items), np.int32), np.empty(len(items), np.float32), 0
    for place in range(len(items)):
        if place + ROWS_AHEAD < len(items):
            prefetch(embeddings, items[place + ROWS_AHEAD], ROW_BYTES)
        item = items[place]
        if item != anchor and not is_blank(embeddings[item]):
            members[found], scores[found] = item, dot(embeddings[anchor], embeddings[item])
            found += 1
    keys = np.empty(found, np.int64)
    pack(scores[:found], members[:found], keys)
    return best(keys, depth)


@compiled
def _scan(embeddings: Floats, anchor: int, mask: Mask, blocked: Items, depth: int) -> Keys:
    items, eligible = np.empty(len(embeddings), np.int32), 0
    for item in range(len(embeddings)):
        if is_allowed(item, mask, blocked):
            items[eligible] = item
            eligible += 1
    return nearest_of(embeddings, anchor, items[:eligible], depth)


def nearest(embeddings: Floats, anchor: int, mask: Mask, blocked: Items, depth: int) -> tuple[Items, Floats]:
    """The items with text that are nearest to an anchor, itself left out, by an exact scan.

    Args:
        embeddings: float32 [n, d], L2-normalised, a zero row = no text.
        anchor: item index; an anchor without text has no neighbours.
        mask: bool [n] of items that may be returned, or empty = all.
        blocked: int32, sorted, further items that may not.
        depth: number wanted, >= 1.

    Returns:
        int32 items and float32 cosines, best first, ties by item index.
    """
    if is_blank(embeddings[anchor]):
        return np.empty(0, np.int32), np.empty(0, np.float32)
    return listed(_scan(embeddings, anchor, mask, blocked, depth))
