"""Popularity diagnosis: how far the held-out targets are popular items (arXiv 2610.19065)."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from offline.measures.arrays import PAD, Floats, Ints, Longs, check_users

OFTEN = 10
"""Training histories that make a target a well-known item."""


@dataclass(frozen=True, slots=True)
class PopularityDiagnosis:
    """How far the held-out targets are popular items.

    Attributes:
        score_spearman: rank correlation, over the users' targets, of the popularity score with the number of training
            histories that hold the target; 1 by construction where the score was counted from these histories.
        demand_spearman: rank correlation, over all items, of the popularity score with how often the item is a target.
        often: share of targets that at least ten training histories hold.

    Each is NaN where it is not defined: no targets, or one of the two sides constant.
    """

    score_spearman: float
    demand_spearman: float
    often: float


def histories_holding(users: npt.NDArray[np.integer], items: Ints, *, n_items: int) -> Longs:
    """In how many training histories each item occurs, repeats within a history counted once: int64 [n_items].

    Args:
        users: int [n], the user of each training interaction.
        items: int [n], its item.
        n_items: catalogue size.

    >>> histories_holding(np.array([0, 0, 0, 1]), np.array([1, 1, 0, 1]), n_items=3).tolist()
    [1, 2, 0]
    """
    check_users("items of interactions", items, len(users))
    distinct = np.unique(users.astype(np.int64) * n_items + items)
    return np.bincount(distinct % n_items, minlength=n_items)


def popularity_diagnosis(targets: Ints, score: Floats, histories: Longs) -> PopularityDiagnosis:
    """Compare a popularity score with what users went on to choose.

    Args:
        targets: int32 [users], -1 = no target.
        score: float64 [n_items], the popularity component of the item value or any other popularity.
        histories: int64 [n_items], from `histories_holding`.

    Raises:
        InputError: score and histories are of different catalogues.

    >>> score, histories = np.array([0.1, 0.4, 0.9]), np.array([2, 12, 30])
    >>> popularity_diagnosis(np.array([0, 1, 2, 2], np.int32), score, histories)
    PopularityDiagnosis(score_spearman=1.0, demand_spearman=0.8660254037844387, often=0.75)
    """
    check_users("popularity score", score, len(histories))
    targets = targets[targets != PAD]
    held = histories[targets]
    demand = np.bincount(targets, minlength=len(score))
    often = float((held >= OFTEN).mean()) if len(held) else float("nan")
    return PopularityDiagnosis(spearman(score[targets], held), spearman(score, demand), often)


def spearman(x: Floats | Longs, y: Floats | Longs) -> float:
    """Rank correlation with mean ranks for ties; NaN where a side is constant or empty.

    >>> spearman(np.array([1, 2, 3, 4]), np.array([10, 30, 20, 40]))
    0.8
    """
    if len(x) == 0 or (x == x[0]).all() or (y == y[0]).all():
        return float("nan")
    rank_x, rank_y = rankdata(x), rankdata(y)
    rank_x, rank_y = rank_x - rank_x.mean(), rank_y - rank_y.mean()
    return float((rank_x @ rank_y) / np.sqrt((rank_x @ rank_x) * (rank_y @ rank_y)))
