"""Recall and NDCG with one target a user, at any number of cut-offs from one array of ranks."""

from collections.abc import Sequence

import numpy as np

from offline.measures.arrays import PAD, Floats, Ints, check_lists

ABSENT = 0
"""Rank of a target that the list does not hold."""


def target_ranks(lists: Ints, targets: Ints) -> Ints:
    """Place of each user's target in the user's list, from 1.

    Args:
        lists: int32 [users, k], best first, padded with -1.
        targets: int32 [users]; -1 = the user has no target.

    Returns:
        int32 [users]: the rank, or 0 (`ABSENT`) where the list does not hold the target.

    Raises:
        InputError: lists and targets are not of the same users.

    >>> target_ranks(np.array([[4, 7, 9], [4, -1, -1]], np.int32), np.array([9, 7], np.int32)).tolist()
    [3, 0]
    """
    check_lists(lists, len(targets))
    if lists.shape[1] == 0:
        return np.zeros(len(targets), np.int32)
    hits = (lists == targets[:, None]) & (lists != PAD)
    return np.where(hits.any(1), hits.argmax(1) + 1, ABSENT).astype(np.int32)


def hits_at(ranks: Ints, k: int) -> Floats:
    """1 for each user whose target is in the top k, else 0: float64 [users].

    >>> hits_at(np.array([1, 3, 0]), 2).tolist()
    [1.0, 0.0, 0.0]
    """
    hits: Floats = ((ranks != ABSENT) & (ranks <= k)).astype(np.float64)
    return hits


def ndcg_gains(ranks: Ints, k: int) -> Floats:
    """NDCG@k of each user with one target at rank r: 1 / log2(r + 1), 0 outside the top k: float64 [users].

    One relevant item makes the ideal 1 (Järvelin and Kekäläinen, 2002).

    >>> ndcg_gains(np.array([1, 3, 0, 2]), 2).round(6).tolist()
    [1.0, 0.0, 0.0, 0.63093]
    """
    gains: Floats = hits_at(ranks, k) / np.log2(np.maximum(ranks, 1) + 1.0)
    return gains


def recall(ranks: Ints, ks: Sequence[int]) -> Floats:
    """Share of users whose target is in the top k, for each k: float64 [len(ks)]; NaN without users.

    >>> recall(np.array([1, 3, 0, 12]), [1, 10, 50]).tolist()
    [0.25, 0.5, 0.75]
    """
    return np.array([_mean(hits_at(ranks, k)) for k in ks], np.float64)


def ndcg(ranks: Ints, ks: Sequence[int]) -> Floats:
    """Mean NDCG@k over users, for each k: float64 [len(ks)]; NaN without users.

    >>> ndcg(np.array([1, 3, 0, 0]), [1, 10]).tolist()
    [0.25, 0.375]
    """
    return np.array([_mean(ndcg_gains(ranks, k)) for k in ks], np.float64)


def _mean(per_user: Floats) -> float:
    return float(per_user.mean()) if len(per_user) else float("nan")


def discounts(k: int) -> Floats:
    """1 / log2(j + 1) for the places j = 1..k: float64 [k].

    >>> discounts(3).round(6).tolist()
    [1.0, 0.63093, 0.5]
    """
    return 1.0 / np.log2(np.arange(2, k + 2))
