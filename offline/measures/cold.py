"""Cold targets: items that a user chose although no training sequence holds them."""

import numpy as np

from offline.measures.arrays import PAD, Bools, Ints, check_users
from offline.measures.ranking import hits_at


def cold_targets(targets: Ints, training_items: Ints, *, n_items: int) -> Bools:
    """Which targets no training sequence holds.

    Args:
        targets: int32 [users], -1 = no target (never cold).
        training_items: int32 [n], the items of all training sequences, in any order, repeats allowed.
        n_items: catalogue size.

    Returns:
        bool [users].

    >>> cold_targets(np.array([0, 2, -1], np.int32), np.array([0, 0, 1], np.int32), n_items=3).tolist()
    [False, True, False]
    """
    seen = np.zeros(n_items, np.bool_)
    seen[training_items] = True
    return np.asarray((targets != PAD) & ~seen[targets], np.bool_)


def found_at(ranks: Ints, cold: Bools, k: int) -> int:
    """found@k: how many cold targets are in the top k.

    Args:
        ranks: int32 [users], from `target_ranks`.
        cold: bool [users].
        k: cut-off.

    >>> found_at(np.array([1, 2, 60], np.int32), np.array([False, True, True]), 50)
    1
    """
    check_users("cold targets", cold, len(ranks))
    return int(hits_at(ranks, k)[cold].sum())
