"""Decoders for queue tests: each answers from its query alone, so a crossed reply shows."""

import threading
import time
from collections.abc import Sequence

import numpy as np

from models.retrieval import Candidates, Eligible, Query

VERSION = "20260101T000000-0001"
N_ITEMS = 1000


def query(seed: int, *, k: int = 5) -> Query:
    """A query that only its own answer fits."""
    return Query(np.array([seed % N_ITEMS, seed // N_ITEMS], np.int32), k, Eligible(N_ITEMS))


def answer(asked: Query) -> Candidates:
    """The k items after the first of the history, scored by the second."""
    first, second = asked.history[:2].tolist()
    items = (first + 1 + np.arange(asked.k, dtype=np.int32)) % N_ITEMS
    return Candidates(items, np.full(asked.k, second, np.float32), np.zeros(asked.k, np.uint8))


class EchoDecoder:
    """Answers after a fixed time a batch and a time a member; remembers the sizes of its batches."""

    def __init__(self, *, fixed_s: float = 0.0, each_s: float = 0.0, version: str = VERSION) -> None:
        self.version = version
        self.fixed_s, self.each_s = fixed_s, each_s
        self.batches: list[list[int]] = []
        self.fail = False
        self.gate = threading.Event()
        self.gate.set()

    def decode(self, queries: Sequence[Query]) -> list[Candidates]:
        self.batches.append([int(asked.history[0]) + N_ITEMS * int(asked.history[1]) for asked in queries])
        self.gate.wait()
        time.sleep(self.fixed_s + self.each_s * len(queries))
        if self.fail:
            raise RuntimeError("decoder failed on purpose")
        return [answer(asked) for asked in queries]

    def sample(self) -> Query:
        return query(0)
