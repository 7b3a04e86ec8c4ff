"""Substitute blindness: what the misses of DR look like (arXiv 2610.19065).

A miss that puts forward the target's own kind of item is one that exact matching cannot tell from a bad list.
"""

from dataclasses import dataclass

import numpy as np

from models.errors import InputError
from offline.measures.arrays import Floats, Ints, check_users
from offline.measures.credit import best_credit
from offline.measures.ranking import hits_at

TOP, POOL = 50, 200


@dataclass(frozen=True, slots=True)
class MissAnatomy:
    """DR's misses (target not in its top 50), split three ways.

    Attributes:
        misses: users whose target is not in the top 50.
        substitute: misses with a same-leaf item in the top 50 while the target lies beyond 200.
        near: misses with the target at 51 to 200.
        blind: the rest: beyond 200 and no same-leaf item in the top 50.
        rescued: misses that the other method finds in its top 50; they may be of any of the three kinds.
    """

    misses: int
    substitute: int
    near: int
    blind: int
    rescued: int

    def share(self, count: int) -> float:
        """A count as a share of the misses; NaN without misses."""
        return count / self.misses if self.misses else float("nan")


def miss_anatomy(
    dr_ranks: Ints, same_leaf: Floats, other_ranks: Ints, *, depth: int, top: int = TOP, pool: int = POOL
) -> MissAnatomy:
    """Split the misses of DR, and count those that another method finds.

    Args:
        dr_ranks: int32 [users], rank of the target in a DR list of at least `pool` places, 0 = not in it.
        same_leaf: float64 [users, m >= top], same-leaf relevance of the DR list's items, in list order.
        other_ranks: int32 [users], rank of the target in the other method's list (GR's), at least `top` places.
        depth: number of places of the DR list that `dr_ranks` was taken from.
        top: cut-off of a find.
        pool: rank up to which a miss counts as near.

    Raises:
        InputError: arrays of different users, or a DR list shorter than `pool`.

    >>> anatomy = miss_anatomy(
    ...     np.array([3, 120, 0, 0]), np.array([[1.0], [0.0], [1.0], [0.0]]), np.array([0, 0, 7, 0]), depth=200)
    >>> anatomy
    MissAnatomy(misses=3, substitute=1, near=1, blind=1, rescued=1)
    """
    check_users("same-leaf relevance", same_leaf, len(dr_ranks))
    check_users("ranks of the other method", other_ranks, len(dr_ranks))
    if depth < pool:
        raise InputError(
            "DR lists",
            found=f"{depth} places",
            expected=f"at least {pool}",
            remedy=f"Ask DR for k = {pool} and cut its list to {top} for the other measures.",
        )
    missed = hits_at(dr_ranks, top) == 0
    near = missed & (hits_at(dr_ranks, pool) == 1)
    substitute = missed & ~near & (best_credit(same_leaf, top) > 0)
    rescued = missed & (hits_at(other_ranks, top) == 1)
    counts = [int(np.count_nonzero(kind)) for kind in (missed, substitute, near, rescued)]
    return MissAnatomy(counts[0], counts[1], counts[2], counts[0] - counts[1] - counts[2], counts[3])
