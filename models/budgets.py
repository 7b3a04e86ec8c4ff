"""Budgets of TGH: how many items each ring of each anchor gives. Source: arXiv 2605.07125."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from models.rings import N_RINGS
from models.words import RetrieverName

Budgets = npt.NDArray[np.int64]

TGH_BUDGETS: dict[RetrieverName, tuple[tuple[int, ...], ...]] = {
    RetrieverName.TGH_1: ((7, 2, 1),),
    RetrieverName.TGH_2: ((5, 1), (3, 1)),
}
"""For k = 10: of each anchor, last item first, the budgets of its rings, nearest first."""


def scale(budgets: Sequence[int], k: int) -> list[int]:
    """Budgets in proportion to k, summing to k: largest remainder, ties to the earlier budget.

    >>> scale((7, 2, 1), 50), scale((5, 1, 3, 1), 5), scale((7, 2, 1), 1)
    ([35, 10, 5], [3, 1, 1, 0], [1, 0, 0])
    """
    total = sum(budgets)
    shares = [budget * k // total for budget in budgets]
    by_remainder = sorted(range(len(budgets)), key=lambda place: -(budgets[place] * k % total))
    for place in by_remainder[: k - sum(shares)]:
        shares[place] += 1
    return shares


@lru_cache(maxsize=4096)
def anchor_budgets(name: RetrieverName, k: int, n_anchors: int) -> Budgets:
    """int64 [anchors, 3], read-only: budgets for a list of k; -1 for a ring that takes no part.

    An only anchor (a one-item history) gets the budgets of both.

    >>> anchor_budgets(RetrieverName.TGH_2, 10, 2).tolist(), anchor_budgets(RetrieverName.TGH_2, 10, 1).tolist()
    ([[5, 1, -1], [3, 1, -1]], [[8, 2, -1]])
    """
    shape = TGH_BUDGETS[name]
    shares = np.array(scale([budget for anchor in shape for budget in anchor], k), np.int64).reshape(len(shape), -1)
    if n_anchors < len(shape):
        shares = shares.sum(axis=0, keepdims=True)
    budgets = np.full((len(shares), N_RINGS), -1, np.int64)
    budgets[:, : shares.shape[1]] = shares
    budgets.flags.writeable = False
    return budgets
