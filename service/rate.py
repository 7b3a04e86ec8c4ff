"""A limit on the requests of one client address to one process."""

import math
import time
from collections.abc import Callable
from http import HTTPStatus

from starlette.types import Scope

from service.problems import ProblemError, ProblemKind

MOST_CLIENTS = 100_000
"""Clients remembered; beyond it those whose limit is not touched are forgotten."""
PROBES = frozenset({"/healthz", "/readyz"})


class RateGate:
    """The generic cell rate algorithm (ITU-T I.371): one number a client, no timers.

    Args:
        per_s: requests a second in the long run.
        burst: requests that may come at once.
        clock: seconds that never go back.
    """

    def __init__(self, per_s: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._interval_s, self._tolerance_s, self._clock = 1 / per_s, (burst - 1) / per_s, clock
        self._due: dict[str, float] = {}

    def __call__(self, scope: Scope) -> None:
        """Let the request pass.

        Raises:
            ProblemError: 429, its client has used its share.
        """
        if scope["path"] in PROBES:
            return
        now = self._clock()
        client = scope["client"][0] if scope.get("client") else ""
        due = max(now, self._due.get(client, now))
        if due - now > self._tolerance_s:
            raise too_many(math.ceil(due - now - self._tolerance_s))
        if len(self._due) >= MOST_CLIENTS:
            self._due = {name: at for name, at in self._due.items() if at > now}
        self._due[client] = due + self._interval_s


def too_many(retry_after_s: int) -> ProblemError:
    """429 with `Retry-After`."""
    return ProblemError(
        HTTPStatus.TOO_MANY_REQUESTS,
        ProblemKind.TOO_MANY_REQUESTS,
        "This client asks more often than it may; Retry-After says when to come back.",
        headers={"retry-after": str(max(1, retry_after_s))},
    )
