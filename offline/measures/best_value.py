"""Best-item value BV@k: how good the best relevant item is that a list puts forward, and how two methods compare.

Definitions follow arXiv 2610.19065.
"""

from dataclasses import dataclass

import numpy as np

from offline.measures.arrays import PAD, Bools, Floats, Ints, check_users
from offline.measures.bootstrap import RESAMPLES, Interval, bootstrap_means, bootstrap_ratios

MARGIN = 0.05
"""A difference in best value up to this is a tie."""
ROUNDING = 1e-12
"""Slack for decimals that binary floats cannot hold: 0.65 - 0.60 is a tie at a margin of 0.05."""


@dataclass(frozen=True, slots=True)
class BestItems:
    """The best relevant item of each user's list.

    Attributes:
        items: int32 [users], -1 where the list holds nothing relevant.
        values: float64 [users], BV@k; 0 where the list holds nothing relevant.
    """

    items: Ints
    values: Floats

    @property
    def found(self) -> Bools:
        """bool [users]: whether the list holds a relevant item."""
        return np.asarray(self.items != PAD, np.bool_)


@dataclass(frozen=True, slots=True)
class Wins:
    """Users for whom x wins, ties and loses against a; they sum to the users whose lists both hold a find."""

    win: int
    tie: int
    loss: int

    @property
    def users(self) -> int:
        """Users that were compared."""
        return self.win + self.tie + self.loss


def best_items(lists: Ints, q: Floats, values: Floats, k: int) -> BestItems:
    """The relevant item (q > 0) of greatest value in each top k; of equal values the earlier place.

    Args:
        lists: int32 [users, m], padded with -1.
        q: float64 [users, m], relevance of the listed items.
        values: float64 [n_items], item values v_i.
        k: cut-off.

    Raises:
        InputError: lists and relevance are not of the same users.

    >>> lists = np.array([[2, 0, 1], [1, 2, -1]], np.int32)
    >>> best = best_items(lists, np.array([[0.0, 1.0, 1.0], [0.0, 0.0, 0.0]]), np.array([0.4, 0.9, 1.0]), 3)
    >>> best.items.tolist(), best.values.tolist()
    ([1, -1], [0.9, 0.0])
    """
    check_users("relevance", q, len(lists))
    lists, q = lists[:, :k], q[:, :k]
    relevant = (q > 0) & (lists != PAD)
    if lists.shape[1] == 0:
        return BestItems(np.full(len(lists), PAD, np.int32), np.zeros(len(lists)))
    worth = np.where(relevant, values[lists], -np.inf)
    rows, place = np.arange(len(lists)), worth.argmax(1)
    found = relevant[rows, place]
    return BestItems(
        np.where(found, lists[rows, place], PAD).astype(np.int32), np.where(found, worth[rows, place], 0.0)
    )


def both_found(x: BestItems, a: BestItems) -> Bools:
    """bool [users]: users for whom both lists hold a relevant item.

    >>> x = BestItems(np.array([1, -1]), np.array([0.9, 0.0]))
    >>> a = BestItems(np.array([2, 2]), np.array([0.5, 0.5]))
    >>> both_found(x, a).tolist()
    [True, False]
    """
    check_users("best items", a.items, len(x.items))
    return np.asarray(x.found & a.found, np.bool_)


def paired_gap(x: BestItems, a: BestItems, rng: np.random.Generator, *, resamples: int = RESAMPLES) -> Interval:
    """Delta-BV(x - a): mean of BV_x - BV_a over users for whom both lists hold a relevant item.

    >>> x = BestItems(np.array([1, 3, -1]), np.array([0.9, 0.2, 0.0]))
    >>> a = BestItems(np.array([2, 3, 4]), np.array([0.5, 0.2, 0.7]))
    >>> round(paired_gap(x, a, np.random.default_rng(1)).estimate, 6)
    0.2
    """
    both = both_found(x, a).astype(np.float64)[:, None]
    gap = (x.values - a.values)[:, None] * both
    return bootstrap_ratios(gap, both, rng, resamples=resamples)[0]


def imputed_gap(x: BestItems, a: BestItems, rng: np.random.Generator, *, resamples: int = RESAMPLES) -> Interval:
    """Mean of BV_x - BV_a over all users, 0 standing for a list without a relevant item.

    >>> x = BestItems(np.array([1, 3, -1]), np.array([0.9, 0.2, 0.0]))
    >>> a = BestItems(np.array([2, 3, 4]), np.array([0.5, 0.2, 0.7]))
    >>> round(imputed_gap(x, a, np.random.default_rng(1)).estimate, 6)
    -0.1
    """
    check_users("best items", a.items, len(x.items))
    return bootstrap_means((x.values - a.values)[:, None], rng, resamples=resamples)[0]


def won(x: BestItems, a: BestItems, margin: float = MARGIN) -> Bools:
    """bool [users]: both lists hold a relevant item and x's best exceeds a's by more than the margin.

    >>> x = BestItems(np.array([1, 1]), np.array([0.65, 0.66]))
    >>> a = BestItems(np.array([2, 2]), np.array([0.60, 0.60]))
    >>> won(x, a).tolist()
    [False, True]
    """
    return both_found(x, a) & (x.values - a.values > margin + ROUNDING)


def wins(x: BestItems, a: BestItems, margin: float = MARGIN) -> Wins:
    """Count users that x wins, ties and loses: a difference above, within and below the margin.

    >>> x = BestItems(np.array([1, 1, 1, -1]), np.array([0.9, 0.52, 0.1, 0.0]))
    >>> a = BestItems(np.array([2, 2, 2, 2]), np.array([0.5, 0.50, 0.5, 0.5]))
    >>> wins(x, a)
    Wins(win=1, tie=1, loss=1)
    """
    win, loss = int(won(x, a, margin).sum()), int(won(a, x, margin).sum())
    return Wins(win, int(both_found(x, a).sum()) - win - loss, loss)


def decomposition(
    x: BestItems,
    a: BestItems,
    components: Floats,
    weights: Floats,
    rng: np.random.Generator,
    *,
    margin: float = MARGIN,
    resamples: int = RESAMPLES,
) -> list[Interval]:
    """Share of each value component in x's lead, over the users that x wins against a.

    The share of component c is sum w_c (c of x's best - c of a's best) / sum (v of x's best - v of a's best); the
    shares sum to 1.

    Args:
        x: best items of the method that is examined.
        a: best items of the other.
        components: float64 [n_components, n_items]: popularity, rating, brand.
        weights: float64 [n_components], the weights of the value.
        rng: source of all randomness.
        margin: least lead that is a win.
        resamples: number of bootstrap samples.

    Returns:
        An interval a component; NaN throughout where x wins nowhere.

    >>> x = BestItems(np.array([0], np.int32), np.array([0.65]))
    >>> a = BestItems(np.array([1], np.int32), np.array([0.25]))
    >>> components = np.array([[0.8, 0.6], [0.6, 0.2]])
    >>> shares = decomposition(x, a, components, np.array([0.25, 0.75]), np.random.default_rng(1))
    >>> [round(share.estimate, 6) for share in shares]
    [0.142857, 0.857143]
    """
    lead = won(x, a, margin)
    part = weights[:, None] * (components[:, x.items] - components[:, a.items]) * lead
    return bootstrap_ratios(part.T, part.sum(0)[:, None], rng, resamples=resamples)
