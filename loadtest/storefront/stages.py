"""How many visitors there are when: a ramp, a spike, a soak."""

from dataclasses import dataclass
from enum import StrEnum

SPIKE_FACTOR = 5
STEPS = 10
AT_ONCE = 100.0
"""Visitors that come or go a second at most; Locust advises against more."""


class ShapeName(StrEnum):
    """Which shape."""

    RAMP = "ramp"
    SPIKE = "spike"
    SOAK = "soak"


@dataclass(frozen=True)
class Stage:
    """A part of a test.

    Attributes:
        until_s: when it ends, from the beginning.
        users: visitors in it.
        rate: visitors that come or go a second.
    """

    until_s: float
    users: int
    rate: float


def stages(name: ShapeName, users: int, seconds: float) -> list[Stage]:
    """The parts of a test.

    A ramp rises in ten steps. A spike is a fifth of the visitors, then all of them at once in the middle third, then a
    fifth again. A soak is all of them, who come within the first tenth, but at most in a minute.

    >>> [(stage.until_s, stage.users) for stage in stages(ShapeName.SPIKE, 50, 30)]
    [(10.0, 10), (20.0, 50), (30, 10)]
    """
    if name is ShapeName.RAMP:
        each = [(seconds * step / STEPS, max(1, users * step // STEPS)) for step in range(1, STEPS + 1)]
        return [Stage(until, count, AT_ONCE) for until, count in each]
    if name is ShapeName.SPIKE:
        few = max(1, users // SPIKE_FACTOR)
        thirds = (seconds / 3, few), (seconds * 2 / 3, users), (seconds, few)
        return [Stage(until, count, AT_ONCE) for until, count in thirds]
    return [Stage(seconds, users, max(1.0, users / min(60.0, seconds / 10)))]
