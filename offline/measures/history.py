"""History dependence: what an encoder loses when it sees the last item alone (arXiv 2605.07125)."""

from dataclasses import dataclass

import numpy as np

from offline.measures.arrays import Ints, check_users
from offline.measures.bootstrap import RESAMPLES, Interval, bootstrap_means
from offline.measures.ranking import hits_at


@dataclass(frozen=True, slots=True)
class HistoryDependence:
    """Recall of one encoder on full histories and on last items.

    Attributes:
        full: Recall@k on the full history.
        last: Recall@k on the last item only.
        gain: full - last, over the same users.
    """

    full: Interval
    last: Interval
    gain: Interval

    @property
    def kept(self) -> float:
        """Share of the full history's recall that the last item alone keeps; NaN where the full recall is 0."""
        return self.last.estimate / self.full.estimate if self.full.estimate else float("nan")


def history_dependence(
    full_ranks: Ints, last_ranks: Ints, k: int, rng: np.random.Generator, *, resamples: int = RESAMPLES
) -> HistoryDependence:
    """Compare the ranks that an encoder gives the target on the full history and on the last item only.

    Args:
        full_ranks: int32 [users], from `target_ranks`.
        last_ranks: int32 [users].
        k: cut-off.
        rng: source of all randomness.
        resamples: number of bootstrap samples.

    >>> dependence = history_dependence(np.array([1, 2, 0, 0]), np.array([1, 0, 0, 0]), 10, np.random.default_rng(1))
    >>> dependence.full.estimate, dependence.last.estimate, dependence.gain.estimate, dependence.kept
    (0.5, 0.25, 0.25, 0.5)
    """
    check_users("ranks on the last item", last_ranks, len(full_ranks))
    full, last = hits_at(full_ranks, k), hits_at(last_ranks, k)
    return HistoryDependence(*bootstrap_means(np.stack((full, last, full - last), axis=1), rng, resamples=resamples))
