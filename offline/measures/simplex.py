"""The value weights swept over the simplex: for which weights does method x beat method a on vNDCG?

Values are linear in the weights, so a list's discounted gain is too: it is summed once a component and each weighting
costs a product. Only the ideal order changes with the weights; it is sorted anew for each, over the relevant pooled
items alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from models.errors import InputError
from offline.measures.arrays import Floats, Ints, Longs
from offline.measures.bootstrap import RESAMPLES, Interval, bootstrap_means
from offline.measures.ranking import discounts
from offline.measures.vndcg import first_places, pool

STEPS = 20


@dataclass(frozen=True, slots=True)
class Sweep:
    """What each weighting makes of the compared methods.

    Attributes:
        weights: float64 [points, components], each row >= 0 with sum 1.
        gains: float64 [methods, users, components], the list's discounted gain a component.
        ideals: float64 [points, users], the best discounted gain of the shared pool under each weighting.
    """

    weights: Floats
    gains: Floats
    ideals: Floats

    def scores(self, method: int) -> Floats:
        """vNDCG of one method at each weighting for each user: float64 [points, users]."""
        found = self.weights @ self.gains[method].T
        scores: Floats = np.divide(found, self.ideals, out=np.zeros_like(found), where=self.ideals > 0)
        return scores

    def gap(self, x: int, a: int, rng: np.random.Generator, *, resamples: int = RESAMPLES) -> list[Interval]:
        """Mean vNDCG of x minus that of a at each weighting, with intervals from shared resamples."""
        return bootstrap_means((self.scores(x) - self.scores(a)).T, rng, resamples=resamples)


def weight_grid(steps: int = STEPS, components: int = 3) -> Floats:
    """All weightings on a grid of 1 / steps: 231 points for 20 steps and 3 components.

    Returns:
        float64 [points, components], the first weight rising slowest.

    >>> weight_grid(2).tolist()
    [[0.0, 0.0, 1.0], [0.0, 0.5, 0.5], [0.0, 1.0, 0.0], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]
    >>> weight_grid().shape
    (231, 3)
    """
    axes = np.meshgrid(*[np.arange(steps + 1)] * (components - 1), indexing="ij")
    free = np.stack([axis.ravel() for axis in axes], axis=1)
    free = free[free.sum(1) <= steps]
    return np.hstack((free, steps - free.sum(1, keepdims=True))) / steps


def sweep(lists: Ints, q: Floats, components: Floats, weights: Floats) -> Sweep:
    """Discounted gains and ideals of all methods at every weighting.

    Args:
        lists: int32 [methods, users, k], padded with -1.
        q: float64 [methods, users, k], relevance of the listed items.
        components: float64 [components, n_items], popularity, rating, brand in [0, 1].
        weights: float64 [points, components], see `weight_grid`.

    Raises:
        InputError: shapes do not fit together.

    >>> components = np.array([[0.9, 0.1], [0.1, 0.9], [0.0, 0.0]])
    >>> lists = np.array([[[0]], [[1]]], np.int32)
    >>> swept = sweep(lists, np.ones((2, 1, 1)), components, np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]))
    >>> (swept.scores(0) - swept.scores(1)).round(6).tolist()
    [[0.888889], [0.0]]
    """
    _check(lists, q, components, weights)
    q = np.where(first_places(lists), q, 0.0)
    k = lists.shape[2]
    gains = np.stack([(q * part[lists]) @ discounts(k) for part in components], axis=2)
    ideals = np.zeros((len(weights), lists.shape[1]))
    for users, parts in _pooled_parts(*pool(lists, q), components):
        for point, weight in enumerate(weights):
            best = -np.sort(-(parts @ weight), axis=1)[:, :k]
            ideals[point, users] = best @ discounts(best.shape[1])
    return Sweep(weights, gains, ideals)


def _pooled_parts(items: Ints, q: Floats, components: Floats) -> Iterator[tuple[Longs, Floats]]:
    """Blocks of users with alike numbers of relevant pooled items, and q times their components, 0 at padding.

    Yields:
        int64 [block] of user rows and float64 [block, width, components].
    """
    relevant = q > 0
    counts = relevant.sum(1)
    for width, users in _by_width(counts):
        order = np.argsort(~relevant[users], axis=1, kind="stable")[:, :width]
        chosen = np.take_along_axis(items[users], order, 1)
        grade = np.take_along_axis(q[users], order, 1)
        yield users, np.moveaxis(components[:, chosen], 0, 2) * grade[:, :, None]


def _by_width(counts: Longs) -> Iterator[tuple[int, Longs]]:
    """Users grouped by count, padded up to the next power of two, so that sorting touches little padding."""
    widths = 2 ** np.ceil(np.log2(np.maximum(counts, 1))).astype(np.int64)
    for width in np.unique(widths[counts > 0]):
        yield int(width), np.flatnonzero((widths == width) & (counts > 0))


def agreement(gaps: list[Interval]) -> tuple[int, int, int]:
    """How many weightings favour x, a and neither, by the interval of the gap.

    >>> agreement([Interval(0.1, 0.05, 0.2), Interval(0.1, -0.1, 0.2), Interval(-0.2, -0.3, -0.1)])
    (1, 1, 1)
    """
    x = sum(gap.low > 0 for gap in gaps)
    a = sum(gap.high < 0 for gap in gaps)
    return x, a, len(gaps) - x - a


def _check(lists: Ints, q: Floats, components: Floats, weights: Floats) -> None:
    if lists.ndim != 3 or lists.shape != q.shape or components.ndim != 2 or weights.shape[1:] != (len(components),):
        raise InputError(
            "weight sweep",
            found=f"lists {lists.shape}, relevance {q.shape}, components {components.shape}, weights {weights.shape}",
            expected="[methods, users, k] twice, [components, n_items] and [points, components]",
            remedy="Stack the lists to one k and give one row a value component.",
        )
