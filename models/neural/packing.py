"""Histories of any lengths packed end to end, as the exported query encoder takes them; see `models.neural.packed`."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

SLOTS = 4
"""Terms that a product of one row sums at once, in ONNX Runtime's kernels."""


def slots_for(positions: int) -> int:
    """Slots of histories of at most so many positions.

    >>> [slots_for(n) for n in (1, 4, 5)]
    [4, 4, 8]
    """
    return -(-positions // SLOTS) * SLOTS


def packed(lengths: Sequence[int], tokens: int) -> dict[str, npt.NDArray[np.int64]]:
    """Where each token of some histories lies: `places` [B, S], `rows` [P * tokens, 2] and `lengths` [B].

    Args:
        lengths: items of each history, at least one.
        tokens: positions an item.

    >>> {name: array.tolist() for name, array in packed([2, 1], 1).items()}
    {'places': [[0, 1, 0, 0], [2, 0, 0, 0]], 'rows': [[0, 0], [0, 1], [1, 0]], 'lengths': [2, 1]}
    """
    ends = np.array(lengths, np.int64) * tokens
    slots = slots_for(int(ends.max()))
    there = np.arange(slots) < ends[:, None]
    places = np.zeros(there.shape, np.int64)
    places[there] = np.arange(ends.sum())
    return {"places": places, "rows": np.argwhere(there), "lengths": ends}
