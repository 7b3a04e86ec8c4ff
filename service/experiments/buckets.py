"""Stable assignment: the same unit gets the same bucket in every process, on every machine, in every version.

Kohavi, Tang and Xu, "Trustworthy Online Controlled Experiments" (2020), chapter 14: hash the unit with a salt, take it
modulo the number of buckets. The gate (who takes part) and the variant (which arm) use separate hashes, so that
widening the traffic does not move anyone between variants.
"""

from collections.abc import Sequence
from enum import StrEnum
from itertools import accumulate

import xxhash

BUCKETS = 10_000


class Purpose(StrEnum):
    """What a bucket is drawn for."""

    GATE = "gate"
    VARIANT = "variant"


def bucket(salt: str, purpose: Purpose, unit: str) -> int:
    """0 to 9,999, uniform over units and independent between salts and purposes.

    >>> bucket("s", Purpose.GATE, "user:1"), bucket("s", Purpose.VARIANT, "user:1")
    (5175, 1238)
    """
    return xxhash.xxh3_64_intdigest(f"{salt}\0{purpose}\0{unit}".encode()) % BUCKETS


def admitted(salt: str, unit: str, traffic: float) -> bool:
    """True if the unit takes part at this share of traffic; a greater share keeps all who took part before."""
    return bucket(salt, Purpose.GATE, unit) < round(traffic * BUCKETS)


def arm(salt: str, unit: str, weights: Sequence[float]) -> int:
    """Position of the unit's variant among `weights` (each >= 0, sum > 0).

    >>> [arm("s", f"user:{number}", (1, 0, 1)) for number in range(8)]
    [0, 0, 0, 2, 2, 2, 0, 0]
    """
    place = bucket(salt, Purpose.VARIANT, unit)
    total = sum(weights)
    ends = [round(end / total * BUCKETS) for end in accumulate(weights)]
    return next(position for position, end in enumerate(ends) if place < end)
