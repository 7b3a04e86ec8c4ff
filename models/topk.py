"""The best of many scored items, best score first, ties by item index: the one order that every ranked list has.

A score and an item pack into one integer that sorts that way: the high half falls as the score rises, the low half is
the item. Sorting integers is exact and needs no second pass for ties.
"""

import numpy as np
import numpy.typing as npt

from models.kernels import compiled

Keys = npt.NDArray[np.int64]

_LOW_HALF = np.int64(0xFFFFFFFF)
_MAGNITUDE = np.int32(0x7FFFFFFF)


@compiled
def pack(scores: npt.NDArray[np.float32], items: npt.NDArray[np.int32], keys: Keys) -> None:
    """Write the key of each (score, item), all [n], into `keys`. Scores are finite; -0.0 counts as 0.0."""
    bits = scores.view(np.int32)
    for place in range(len(scores)):
        raw = np.int32(0) if scores[place] == 0 else bits[place]
        rising = raw if raw >= 0 else raw ^ _MAGNITUDE
        keys[place] = (np.int64(~rising) << 32) | np.int64(items[place])


@compiled
def unpack(keys: Keys, scores: npt.NDArray[np.float32], items: npt.NDArray[np.int32]) -> None:
    """The reverse of `pack`, into `scores` and `items`, all [n]."""
    bits = scores.view(np.int32)
    for place in range(len(keys)):
        rising = np.int32(~(keys[place] >> 32))
        bits[place] = rising if rising >= 0 else rising ^ _MAGNITUDE
        items[place] = np.int32(keys[place] & _LOW_HALF)


@compiled
def best(keys: Keys, depth: int) -> Keys:
    """The `depth` best keys, best first; all of them where there are fewer."""
    chosen = keys.copy() if depth >= len(keys) else np.partition(keys, depth - 1)[:depth]
    chosen.sort()
    return chosen


def listed(keys: Keys) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """Items and scores of keys, all [n]."""
    items, scores = np.empty(len(keys), np.int32), np.empty(len(keys), np.float32)
    unpack(keys, scores, items)
    return items, scores


def ranked(
    items: npt.NDArray[np.int32], scores: npt.NDArray[np.float32], depth: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """The `depth` best of some items, best first, and their scores.

    >>> items, scores = np.array([7, 3, 5], np.int32), np.array([0.5, 0.5, 0.75], np.float32)
    >>> [part.tolist() for part in ranked(items, scores, 2)]
    [[5, 3], [0.75, 0.5]]
    """
    keys = np.empty(len(items), np.int64)
    pack(scores, items, keys)
    return listed(best(keys, depth))
