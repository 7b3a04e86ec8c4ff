"""Whether two methods get the same users right."""

import numpy as np

from offline.measures.arrays import Floats, Ints, check_users
from offline.measures.ranking import hits_at


def jaccard(ranks_x: Ints, ranks_a: Ints, k: int) -> float:
    """Users whom both methods get right in the top k, over users whom at least one does; NaN where none does.

    Args:
        ranks_x: int32 [users], from `target_ranks`.
        ranks_a: int32 [users].
        k: cut-off.

    >>> jaccard(np.array([1, 2, 0, 0]), np.array([1, 0, 3, 0]), k=10)
    0.3333333333333333
    """
    check_users("ranks", ranks_a, len(ranks_x))
    return float(overlap_matrix(np.stack((ranks_x, ranks_a)), k)[0, 1])


def overlap_matrix(ranks: Ints, k: int) -> Floats:
    """Jaccard overlap of each pair of methods.

    Args:
        ranks: int32 [methods, users].
        k: cut-off.

    Returns:
        float64 [methods, methods], symmetric; NaN where neither method gets any user right.

    >>> overlap_matrix(np.array([[1, 2, 0], [1, 0, 0], [0, 0, 0]]), k=10).tolist()
    [[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, nan]]
    """
    hits = hits_at(ranks, k)
    both = hits @ hits.T
    right = hits.sum(1)
    either = right[:, None] + right[None, :] - both
    overlap: Floats = np.divide(both, either, out=np.full(both.shape, np.nan), where=either > 0)
    return overlap
