"""What a worker runs: any function from queries to lists over one bundle."""

import time
from collections.abc import Callable, Sequence
from typing import Protocol

from models.errors import ShortlistError
from models.retrieval import Candidates, Query


class Decoder(Protocol):
    """Lists for a batch of queries, over one bundle version."""

    @property
    def version(self) -> str:
        """The bundle whose item indices it speaks."""
        ...

    def decode(self, queries: Sequence[Query]) -> list[Candidates]:
        """One list a query, in order. Runs in a thread; may raise, then every member of the batch is told."""
        ...

    def sample(self) -> Query:
        """A query to warm up with."""
        ...


Opener = Callable[[str], Decoder]
"""Opens and verifies the decoder of a bundle version; slow; raises ShortlistError."""


WARM_RUNS = 4


def _forget(_size: int, _took_ms: float) -> None:
    """Told of a pace that says nothing."""


def warm(
    decoder: Decoder,
    sizes: Sequence[int],
    learn: Callable[[int, float], None] = _forget,
    clock: Callable[[], float] = time.perf_counter,
) -> None:
    """Run batches of each size a few times and tell how long the shortest took after the first, in milliseconds: what
    else starts at that time does not count.

    Raises:
        ShortlistError: the decoder gives fewer lists than queries.
    """
    sample = decoder.sample()
    for size in sizes:
        took = []
        for _ in range(WARM_RUNS):
            started = clock()
            found = decoder.decode([sample] * size)
            took.append((clock() - started) * 1000)
        if len(found) != size:
            raise ShortlistError(
                f"decoder of bundle {decoder.version}",
                found=f"{len(found)} lists for {size} queries",
                expected="one list a query",
                remedy="Roll back to a bundle that verifies.",
            )
        learn(size, min(took[1:]))
