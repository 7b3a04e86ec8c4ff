"""What a list collects under a graded relevance rule: Recall and NDCG with partial credit."""

import numpy as np

from offline.measures.arrays import Floats, Longs, Ragged, check_users
from offline.measures.ranking import discounts


def best_credit(q: Floats, k: int) -> Floats:
    """Greatest credit in the top k, 0 for an empty list: float64 [users].

    Under the exact rule its mean is Recall@k; under a rule of zeros and ones it is the share of users with a find.

    Args:
        q: float64 [users, m], relevance of the listed items in list order, 0 at padding.

    >>> best_credit(np.array([[0.0, 0.5, 1.0], [0.0, 0.0, 0.0]]), 2).tolist()
    [0.5, 0.0]
    """
    best: Floats = q[:, :k].max(axis=1, initial=0.0)
    return best


def credit_ndcg(q: Floats, ideal: Floats, k: int) -> Floats:
    """NDCG@k with graded gains: sum_j q / log2(j + 1) over the list by the same sum over the best order of all items.

    Args:
        q: float64 [users, m], relevance of the listed items in list order, 0 at padding.
        ideal: float64 [users], the best such sum, from `ideal_credit` or `ideal_of_counts` for the same k.
        k: cut-off.

    Returns:
        float64 [users]; 0 for a user without any credit to find.

    Raises:
        InputError: relevance and ideals are not of the same users.

    >>> judged = Ragged.from_pairs(np.array([0, 0]), np.array([7, 4]), np.array([1.0, 0.5]), n_rows=1)
    >>> credit_ndcg(np.array([[0.5, 1.0]]), ideal_credit(judged, 2), 2).round(6).tolist()
    [0.859719]
    """
    check_users("relevance", q, len(ideal))
    width = min(k, q.shape[1])
    found = q[:, :width] @ discounts(width)
    return np.divide(found, ideal, out=np.zeros_like(found), where=ideal > 0)


def ideal_credit(judged: Ragged, k: int) -> Floats:
    """sum_j q / log2(j + 1) over each row's k greatest weights: float64 [n_rows].

    >>> judged = Ragged.from_pairs(np.array([0, 0, 2]), np.array([7, 4, 1]), np.array([1.0, 0.5, 1.0]), n_rows=3)
    >>> ideal_credit(judged, 2).round(6).tolist()
    [1.315465, 0.0, 1.0]
    """
    rows = judged.row_of_entry()
    order = np.lexsort((-judged.weights, rows))
    place = np.arange(len(rows)) - judged.indptr[rows]
    gain = np.where(place < k, judged.weights[order] / np.log2(place + 2.0), 0.0)
    return np.bincount(rows, gain, minlength=judged.n_rows).astype(np.float64)


def ideal_of_counts(counts: Longs, k: int) -> Floats:
    """The same for users with so many items of credit 1 each: float64 [users].

    >>> ideal_of_counts(np.array([2, 0, 9]), 3).round(6).tolist()
    [1.63093, 0.0, 2.13093]
    """
    sums = np.concatenate(([0.0], np.cumsum(discounts(k))))
    return np.asarray(sums[np.minimum(counts, k)], np.float64)
