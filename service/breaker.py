"""A circuit breaker: after a run of failures calls are refused at once, and one trial a cooldown tests the water."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class BreakerConfig:
    """When a breaker opens and when it tries again.

    Attributes:
        failures: consecutive failures that open it.
        cooldown_s: seconds until one call may try again.
    """

    failures: int = 5
    cooldown_s: float = 0.5


class BreakerState(StrEnum):
    """closed: calls pass; open: refused; half_open: one trial is under way."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class Breaker:
    """State of one guarded resource. Not for several threads."""

    def __init__(self, config: BreakerConfig | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._config = config or BreakerConfig()
        self._clock = clock
        self._failures = 0
        self._retry_at = 0.0
        self.state = BreakerState.CLOSED

    def allows(self) -> bool:
        """True if a call may be made now; when open, exactly one caller a cooldown gets a True."""
        if self.state is BreakerState.CLOSED:
            return True
        if self._clock() < self._retry_at:
            return False
        self.state = BreakerState.HALF_OPEN
        self._retry_at = self._clock() + self._config.cooldown_s
        return True

    def succeeded(self) -> None:
        """The resource answered."""
        self._failures = 0
        self.state = BreakerState.CLOSED

    def failed(self) -> None:
        """The resource did not answer in time or at all."""
        self._failures += 1
        if self.state is BreakerState.HALF_OPEN or self._failures >= self._config.failures:
            self.state = BreakerState.OPEN
            self._retry_at = self._clock() + self._config.cooldown_s
