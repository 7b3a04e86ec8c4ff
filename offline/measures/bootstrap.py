"""Paired bootstrap over users: a 95 % interval for every mean, difference and ratio of means."""

from dataclasses import dataclass

import numpy as np

from models.errors import InputError
from offline.measures.arrays import Floats, check_users

LEVEL = 0.95
RESAMPLES = 1_000
BLOCK_CELLS = 2_000_000


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its percentile interval.

    Attributes:
        estimate: the statistic on all users.
        low: lower end, NaN where no resample gives a value.
        high: upper end.
    """

    estimate: float
    low: float
    high: float

    @property
    def decided(self) -> bool:
        """Whether the interval leaves zero out, so that the sign of a difference is settled."""
        return self.low > 0 or self.high < 0


def bootstrap_mean(
    per_user: Floats, rng: np.random.Generator, *, resamples: int = RESAMPLES, level: float = LEVEL
) -> Interval:
    """Interval of a mean over users. Pass x - a of the same users for a paired difference.

    Args:
        per_user: float64 [users].
        rng: source of all randomness.
        resamples: number of bootstrap samples.
        level: coverage.

    >>> same = bootstrap_mean(np.array([0.5, 0.5, 0.5]), np.random.default_rng(1))
    >>> (same.estimate, same.low, same.high)
    (0.5, 0.5, 0.5)
    """
    return bootstrap_means(per_user[:, None], rng, resamples=resamples, level=level)[0]


def bootstrap_means(
    columns: Floats, rng: np.random.Generator, *, resamples: int = RESAMPLES, level: float = LEVEL
) -> list[Interval]:
    """Intervals of many means over the same users, all from the same resamples.

    Args:
        columns: float64 [users, columns].

    >>> [i.estimate for i in bootstrap_means(np.array([[1.0, 0.0], [0.0, 0.5]]), np.random.default_rng(1))]
    [0.5, 0.25]
    """
    return bootstrap_ratios(columns, np.ones((len(columns), 1)), rng, resamples=resamples, level=level)


def bootstrap_ratios(
    numerators: Floats,
    denominators: Floats,
    rng: np.random.Generator,
    *,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> list[Interval]:
    """Intervals of sum(numerator) / sum(denominator) over resampled users, a column each.

    With a 0/1 denominator that also masks the numerator this is a mean over the users it marks, whose number varies
    between resamples as it should. Percentile intervals (Efron and Tibshirani, 1993, chapter 13).

    Args:
        numerators: float64 [users, columns].
        denominators: float64 [users, columns], or [users, 1] for one that all columns share.
        rng: source of all randomness.
        resamples: number of bootstrap samples.
        level: coverage.

    Raises:
        InputError: other users in the two arrays, a NaN or infinite entry, or a level outside (0, 1).

    >>> gap = bootstrap_ratios(np.array([[0.2], [0.0]]), np.array([[1.0], [0.0]]), np.random.default_rng(1))[0]
    >>> (gap.estimate, gap.low, gap.high)
    (0.2, 0.2, 0.2)
    """
    _check(numerators, denominators, level)
    estimates = _ratio(numerators.sum(0), denominators.sum(0))
    draws = _resampled_ratios(numerators, denominators, rng, resamples)
    return [_interval(float(e), draws[:, column], level) for column, e in enumerate(estimates)]


def _resampled_ratios(numerators: Floats, denominators: Floats, rng: np.random.Generator, resamples: int) -> Floats:
    users = len(numerators)
    block = max(1, BLOCK_CELLS // max(users, 1))
    sizes = [min(block, resamples - start) for start in range(0, resamples, block)]
    draws = np.full((resamples, numerators.shape[1]), np.nan)
    if users == 0:
        return draws
    stacked = np.hstack((numerators, denominators))
    start = 0
    for size in sizes:
        sums = user_weights(users, size, rng) @ stacked
        draws[start : start + size] = _ratio(sums[:, : numerators.shape[1]], sums[:, numerators.shape[1] :])
        start += size
    return draws


def user_weights(users: int, resamples: int, rng: np.random.Generator) -> Floats:
    """How often each resample holds each user: float64 [resamples, users], multinomial, each row sums to users.

    >>> user_weights(4, 2, np.random.default_rng(0)).sum(axis=1).tolist()
    [4.0, 4.0]
    """
    drawn = rng.integers(0, users, (resamples, users), dtype=np.int32)
    drawn += (np.arange(resamples, dtype=np.int32) * users)[:, None]
    return np.bincount(drawn.ravel(), minlength=resamples * users).reshape(resamples, users).astype(np.float64)


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    numerator, denominator = np.broadcast_arrays(numerator, denominator)
    ratio: Floats = np.divide(numerator, denominator, out=np.full(numerator.shape, np.nan), where=denominator != 0)
    return ratio


def _interval(estimate: float, draws: Floats, level: float) -> Interval:
    draws = draws[np.isfinite(draws)]
    if not len(draws):
        return Interval(estimate, float("nan"), float("nan"))
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return Interval(estimate, float(low), float(high))


def _check(numerators: Floats, denominators: Floats, level: float) -> None:
    check_users("denominators", denominators, len(numerators))
    if not (np.isfinite(numerators).all() and np.isfinite(denominators).all()):
        raise InputError(
            "bootstrap over users",
            found="a NaN or infinite value",
            expected="finite numbers",
            remedy="Mark users without a value with a zero denominator instead of NaN.",
        )
    if not 0 < level < 1:
        raise InputError(
            "bootstrap level", found=f"{level}", expected="a share between 0 and 1", remedy="Use 0.95 for 95 %."
        )
