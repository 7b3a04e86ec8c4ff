"""Timing that a busy machine disturbs little: many rounds, of which the least and the median count."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timing:
    """Milliseconds of one call."""

    least_ms: float
    median_ms: float
    rounds: int

    def __str__(self) -> str:
        """For a table."""
        return f"least {self.least_ms:.3f} ms, median {self.median_ms:.3f} ms ({self.rounds} rounds)"


def timed(call: Callable[[int], object], *, rounds: int, warm_up: int = 3) -> Timing:
    """Time `call(round)`."""
    for number in range(warm_up):
        call(number)
    took = []
    for number in range(rounds):
        started = time.perf_counter()
        call(number)
        took.append((time.perf_counter() - started) * 1000)
    return Timing(min(took), statistics.median(took), rounds)
