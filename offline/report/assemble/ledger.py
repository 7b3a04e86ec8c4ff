"""Per-user figures collected under keys, then settled in one bootstrap, so that all intervals share their resamples."""

from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np

from offline.measures.arrays import Floats
from offline.measures.bootstrap import Interval, bootstrap_means, bootstrap_ratios

Key = tuple[Hashable, ...]


@dataclass(slots=True)
class Ledger:
    """Columns of per-user figures that wait for their intervals.

    >>> ledger = Ledger()
    >>> ledger.mean(("recall", 10), np.array([1.0, 0.0]))
    >>> ledger.ratio(("gap",), np.array([0.4, 0.0]), np.array([1.0, 0.0]))
    >>> settled = ledger.settle(seed=1, resamples=50)
    >>> settled["recall", 10].estimate, settled["gap",].estimate
    (0.5, 0.4)
    """

    _means: dict[Key, Floats] = field(default_factory=dict)
    _ratios: dict[Key, tuple[Floats, Floats]] = field(default_factory=dict)

    def mean(self, key: Key, per_user: Floats) -> None:
        """Add a mean over all users: float64 [users]."""
        self._means[key] = per_user

    def ratio(self, key: Key, numerator: Floats, denominator: Floats) -> None:
        """Add sum(numerator) / sum(denominator) over users: float64 [users] each."""
        self._ratios[key] = (numerator, denominator)

    def settle(self, *, seed: int, resamples: int) -> dict[Key, Interval]:
        """Estimates and intervals of everything added. Equal seeds draw equal resamples.

        Raises:
            InputError: columns of different users, or a NaN.
        """
        settled: dict[Key, Interval] = {}
        if self._means:
            columns = np.stack(list(self._means.values()), axis=1)
            found = bootstrap_means(columns, np.random.default_rng(seed), resamples=resamples)
            settled.update(zip(self._means, found, strict=True))
        if self._ratios:
            tops, bottoms = (np.stack(side, axis=1) for side in zip(*self._ratios.values(), strict=True))
            found = bootstrap_ratios(tops, bottoms, np.random.default_rng(seed), resamples=resamples)
            settled.update(zip(self._ratios, found, strict=True))
        return settled
