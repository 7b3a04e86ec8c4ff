"""`dr`: the items whose vectors are nearest to the history's query vector. Source: arXiv 2411.18814."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from models import backfill, dense
from models.backfill import Backfill
from models.bundle.reader import Bundle
from models.dense import Dense
from models.retrieval import Candidates, Items, Query, StageClock, with_history
from models.similarity import Floats
from models.words import SOURCE_CODE, RetrieverName, Source

REQUIRES = (*dense.REQUIRES, *backfill.REQUIRES)

_DR = SOURCE_CODE[Source.DR]


class DrRetriever:
    """Cosine of item vectors with the query vector."""

    def __init__(self, bundle: Bundle, name: RetrieverName = RetrieverName.DR) -> None:
        self.name, self._dense, self._backfill = name, Dense.of(bundle), Backfill(bundle)
        self.at_once = self._dense.index.at_once

    def retrieve(self, query: Query) -> Candidates:
        """The k nearest eligible items; popular ones without a history."""
        return self.retrieve_batch([query])[0]

    def retrieve_batch(self, queries: Sequence[Query]) -> list[Candidates]:
        """One list a query, encoded and searched together."""
        return with_history(queries, self._backfill.cold, self._nearest)

    def _nearest(self, queries: Sequence[Query]) -> list[Candidates]:
        clock = StageClock()
        near = self._dense.nearest(queries, [query.k for query in queries], clock)
        return [
            replace(self._complete(query, *found), stages=clock.taken)
            for query, found in zip(queries, near, strict=True)
        ]

    def _complete(self, query: Query, items: Items, scores: Floats) -> Candidates:
        sources = np.full(len(items), _DR, np.uint8)
        return self._backfill.complete(query, int(query.history[-1]), items, scores, sources)


def open(bundle: Bundle, name: RetrieverName) -> DrRetriever:  # noqa: A001
    """The retriever."""
    return DrRetriever(bundle, name)
