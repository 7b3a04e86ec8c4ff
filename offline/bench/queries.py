"""Queries to time."""

import numpy as np

from models.bundle.reader import Bundle
from models.retrieval import Eligible, Query


def queries(bundle: Bundle, *, count: int, history: int, k: int) -> list[Query]:
    """Random histories over a bundle, seen items excluded."""
    generator = np.random.default_rng(0)
    found = []
    for _ in range(count):
        items = generator.integers(0, bundle.n_items, history).astype(np.int32)
        found.append(Query(items, k, Eligible(bundle.n_items, None, np.unique(items))))
    return found
