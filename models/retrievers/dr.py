"""`dr`: the items whose vectors are nearest to the history's query vector. Source: arXiv 2411.18814."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from models import backfill, dense
from models.backfill import Backfill
from models.bundle.reader import Bundle
from models.dense import Dense
from models.retrieval import Candidates, Query, StageClock
from models.words import SOURCE_CODE, RetrieverName, Source

REQUIRES = (*dense.REQUIRES, *backfill.REQUIRES)

_DR = SOURCE_CODE[Source.DR]


class DrRetriever:
    """Cosine of item vectors with the query vector."""

    def __init__(self, bundle: Bundle, name: RetrieverName = RetrieverName.DR) -> None:
        self.name, self._dense, self._backfill = name, Dense.of(bundle), Backfill(bundle)

    def retrieve(self, query: Query) -> Candidates:
        """The k nearest eligible items; popular ones without a history."""
        if not len(query.history):
            return self._backfill.cold(query)
        clock = StageClock()
        items, scores = self._dense.nearest(query.history, query.k, query.eligible, clock)
        sources = np.full(len(items), _DR, np.uint8)
        found = self._backfill.complete(query, int(query.history[-1]), items, scores, sources)
        return replace(found, stages=clock.taken)

    def retrieve_batch(self, queries: Sequence[Query]) -> list[Candidates]:
        """One list a query."""
        return [self.retrieve(query) for query in queries]


def open(bundle: Bundle, name: RetrieverName) -> DrRetriever:  # noqa: A001
    """The retriever."""
    return DrRetriever(bundle, name)
