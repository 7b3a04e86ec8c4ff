"""Value-weighted NDCG over the pool that all compared methods share (arXiv 2610.19065).

vNDCG@k(u) = sum_j q_u v / log2(j + 1) over the list, divided by the same sum for the best order, by q v, of the pooled
items of all compared methods, cut to k. Scores of different pools are not comparable.
"""

import numpy as np

from models.errors import InputError
from offline.measures.arrays import PAD, Bools, Floats, Ints, check_lists
from offline.measures.ranking import discounts


def vndcg(lists: Ints, gains: Floats) -> Floats:
    """vNDCG@k of each method and user over the pool of all methods.

    Args:
        lists: int32 [methods, users, k], best first, padded with -1.
        gains: float64 [methods, users, k], q_u(i) v_i of the listed items, >= 0; a function of user and item alone.

    Returns:
        float64 [methods, users], 0 to 1; 0 where the pool holds nothing of worth.

    Raises:
        InputError: lists and gains differ in shape, or a gain is negative or NaN.

    An item that a list repeats counts once, at its first place.

    >>> a, b, c, d = range(4)
    >>> lists = np.array([[[c, b, a]], [[b, d, c]]], np.int32)
    >>> gains = np.array([0.9, 0.4, 0.0, 0.2])[lists]
    >>> vndcg(lists, gains).round(6).ravel().tolist()
    [0.560833, 0.420152]
    """
    _check(lists, gains)
    gains = np.where(first_places(lists), gains, 0.0)
    found = gains @ discounts(lists.shape[2])
    ideal = ideal_gain(*pool(lists, gains), lists.shape[2])
    return np.divide(found, ideal, out=np.zeros_like(found), where=ideal > 0)


def pool(lists: Ints, gains: Floats) -> tuple[Ints, Floats]:
    """What the methods' lists hold together, each item once, for each user.

    Args:
        lists: int32 [methods, users, k].
        gains: float64 [methods, users, k].

    Returns:
        items int32 [users, methods * k], rising, repeats and padding as -1; their gains, 0 at -1.

    >>> items, gains = pool(np.array([[[7, 4]], [[4, -1]]], np.int32), np.array([[[0.5, 0.2]], [[0.2, 0.0]]]))
    >>> items.tolist(), gains.tolist()
    ([[-1, 4, -1, 7]], [[0.0, 0.2, 0.0, 0.5]])
    """
    methods, users, k = lists.shape
    items = np.swapaxes(lists, 0, 1).reshape(users, methods * k)
    flat = np.swapaxes(gains, 0, 1).reshape(users, methods * k)
    order = np.argsort(items, axis=1, kind="stable")
    items = np.take_along_axis(items, order, 1)
    kept = items != PAD
    kept[:, 1:] &= items[:, 1:] != items[:, :-1]
    return np.where(kept, items, PAD).astype(np.int32), np.where(kept, np.take_along_axis(flat, order, 1), 0.0)


def ideal_gain(items: Ints, gains: Floats, k: int) -> Floats:
    """sum_j gain / log2(j + 1) over the k greatest gains of each user's pool: float64 [users].

    Args:
        items: int32 [users, m], -1 for nothing.
        gains: float64 [users, m].

    >>> ideal_gain(np.array([[0, 1, 2, 3]]), np.array([[0.9, 0.4, 0.0, 0.2]]), 3).round(6).tolist()
    [1.252372]
    """
    check_lists(items, len(gains))
    best = -np.sort(-gains, axis=1)[:, :k]
    return np.asarray(best @ discounts(best.shape[1]), np.float64)


def first_places(lists: Ints) -> Bools:
    """bool like lists: False where the same list already held the item at an earlier place.

    >>> first_places(np.array([[[7, 4, 7]]], np.int32)).tolist()
    [[[True, True, False]]]
    """
    order = np.argsort(lists, axis=2, kind="stable")
    ordered = np.take_along_axis(lists, order, 2)
    fresh = np.ones(lists.shape, np.bool_)
    fresh[:, :, 1:] = ordered[:, :, 1:] != ordered[:, :, :-1]
    first = np.empty(lists.shape, np.bool_)
    np.put_along_axis(first, order, fresh, 2)
    return first


def _check(lists: Ints, gains: Floats) -> None:
    if lists.ndim != 3 or lists.shape != gains.shape:
        raise InputError(
            "lists and gains of vNDCG",
            found=f"shapes {list(lists.shape)} and {list(gains.shape)}",
            expected="two arrays [methods, users, k]",
            remedy="Stack the methods' lists, padded with -1 to one k.",
        )
    if not (gains >= 0).all():
        raise InputError(
            "gains of vNDCG",
            found="a negative or NaN gain",
            expected="q v of 0 or more for every place",
            remedy="Give 0 to padding, to items that are not relevant and to items without a value.",
        )
