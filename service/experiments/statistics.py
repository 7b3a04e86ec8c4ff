"""The statistics of the experiment report, as plain functions of counts.

Units are independent, events are not, so every rate is a share of units.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

Z = 1.959963984540054
"""Two-sided 95 %."""
SHOUT_BELOW = 0.001
"""A sample-ratio check with a smaller p means that assignment or logging is broken."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float


def wilson(successes: int, n: int) -> Interval:
    """Share with its Wilson score interval (Wilson 1927, JASA 22, 209-212); n = 0 gives 0 within [0, 1].

    >>> found = wilson(10, 100)
    >>> round(found.value, 4), round(found.low, 4), round(found.high, 4)
    (0.1, 0.0552, 0.1744)
    """
    if n == 0:
        return Interval(0.0, 0.0, 1.0)
    share, z2 = successes / n, Z * Z
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = Z / (1 + z2 / n) * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return Interval(share, min(share, max(0.0, centre - half)), max(share, min(1.0, centre + half)))


def difference(successes: int, n: int, base_successes: int, base_n: int) -> Interval:
    """Share minus base share, with Newcombe's hybrid score interval (Newcombe 1998, Stat. Med. 17, 873-890, method 10).

    >>> found = difference(56, 70, 48, 80)
    >>> round(found.value, 4), round(found.low, 4), round(found.high, 4)
    (0.2, 0.0524, 0.3339)
    """
    one, base = wilson(successes, n), wilson(base_successes, base_n)
    value = one.value - base.value
    below = math.hypot(one.value - one.low, base.high - base.value)
    above = math.hypot(one.high - one.value, base.value - base.low)
    return Interval(value, value - below, value + above)


def lift(successes: int, n: int, base_successes: int, base_n: int) -> Interval | None:
    """Relative change against the base, with the log interval of Katz et al. (1978, Biometrics 34, 469-474);
    None where one of the shares is 0.

    >>> found = lift(120, 1000, 100, 1000)
    >>> found and (round(found.value, 4), round(found.low, 4), round(found.high, 4))
    (0.2, -0.0659, 0.5416)
    """
    if min(successes, base_successes) == 0 or min(n, base_n) == 0:
        return None
    ratio = (successes / n) / (base_successes / base_n)
    spread = Z * math.sqrt(1 / successes - 1 / n + 1 / base_successes - 1 / base_n)
    return Interval(ratio - 1, ratio * math.exp(-spread) - 1, ratio * math.exp(spread) - 1)


def sample_ratio_p(observed: Sequence[int], shares: Sequence[float]) -> float:
    """p of Pearson's chi-squared test that units came in the expected shares (Fabijan et al. 2019, KDD); 1 where there
    is nothing to test, 0 where units came in an arm that expects none.

    >>> round(sample_ratio_p([5100, 4900], [0.5, 0.5]), 5), sample_ratio_p([60, 0], [0.5, 0.5]) < SHOUT_BELOW
    (0.0455, True)
    """
    from scipy.stats import chi2

    total, weight = sum(observed), sum(shares)
    if total == 0 or weight == 0:
        return 1.0
    if any(count > 0 and share <= 0 for count, share in zip(observed, shares, strict=True)):
        return 0.0
    tested = [(count, total * share / weight) for count, share in zip(observed, shares, strict=True) if share > 0]
    if len(tested) < 2:
        return 1.0
    statistic = sum((count - expected) ** 2 / expected for count, expected in tested)
    return float(chi2.sf(statistic, len(tested) - 1))
