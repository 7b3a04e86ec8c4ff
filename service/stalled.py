"""Closing connections whose client stopped in the middle: uvicorn times idle connections, not half-sent ones.

Looked at from outside once in a while, so that a request costs nothing for it.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

import structlog
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

log = structlog.get_logger(__name__)
LOOK_EVERY_S = 2.0
MAX_HEADER_BYTES = 256 * 1024


class Stage(StrEnum):
    """Whom a connection waits for: its client, in each of these."""

    SILENT = "silent"
    """Nothing is sent, or the rest of a body that nobody asked for."""
    HEADERS = "headers"
    """A request began, its headers do not end."""
    ANSWER = "answer"
    """An answer is on its way, the client does not take it."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a connection may stay in a stage, in seconds."""

    silent: float
    headers: float
    answer: float = 60.0


def stage_of(connection: HttpToolsProtocol) -> Stage | None:
    """Where a connection waits for its client; None = it waits for us, or is kept alive under uvicorn's own timer."""
    cycle = connection.cycle
    if cycle is not None and not cycle.response_complete:
        return Stage.ANSWER if cycle.response_started else None
    if connection.scope is not None and (cycle is None or connection.scope is not cycle.scope):
        return Stage.HEADERS
    return Stage.SILENT if connection.timeout_keep_alive_task is None else None


class Stalled:
    """Remembers since when each connection has been where it is.

    Args:
        patience: how long it may stay there.
        clock: seconds that never go back.
    """

    def __init__(self, patience: Patience, clock: Callable[[], float] = time.monotonic) -> None:
        self._patience, self._clock = patience, clock
        self._since: dict[HttpToolsProtocol, tuple[Stage, int, float]] = {}
        self._looked_at = clock()

    def look(self, connections: Iterable[object]) -> None:
        """Close what has been stalled for too long; does nothing if it looked a moment ago."""
        now = self._clock()
        if now - self._looked_at < LOOK_EVERY_S:
            return
        self._looked_at = now
        seen: dict[HttpToolsProtocol, tuple[Stage, int, float]] = {}
        for connection in connections:
            if isinstance(connection, HttpToolsProtocol) and (stage := stage_of(connection)) is not None:
                seen[connection] = self._stay(connection, stage, now)
        self._since = seen
        for connection, (stage, _, since) in seen.items():
            if now - since > getattr(self._patience, stage) or _too_large(connection, stage):
                log.debug("stalled connection closed", stage=stage.value)
                connection.transport.abort()

    def _stay(self, connection: HttpToolsProtocol, stage: Stage, now: float) -> tuple[Stage, int, float]:
        known = self._since.get(connection)
        request = id(connection.scope)
        return known if known is not None and known[:2] == (stage, request) else (stage, request, now)


def _too_large(connection: HttpToolsProtocol, stage: Stage) -> bool:
    if stage is not Stage.HEADERS:
        return False
    return sum(len(name) + len(value) for name, value in connection.headers) > MAX_HEADER_BYTES
