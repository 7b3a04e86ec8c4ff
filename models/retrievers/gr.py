"""`gr`: the next item's semantic ID, generated code by code; torch is only imported where a GPU is."""

from collections.abc import Sequence

import numpy as np

from models import backfill
from models.backfill import Backfill
from models.bundle.reader import Bundle
from models.neural import generator
from models.neural.beam import BeamResult
from models.neural.generator import Generator, gpu_at_hand
from models.retrieval import Candidates, Query
from models.words import SOURCE_CODE, RetrieverName, Source

REQUIRES = (*generator.REQUIRES, *backfill.REQUIRES)

_GR = SOURCE_CODE[Source.GR]


class GrRetriever:
    """Constrained beam search; lists carry whether they are provably exact."""

    def __init__(self, bundle: Bundle, name: RetrieverName = RetrieverName.GR) -> None:
        self.name, self._backfill = name, Backfill(bundle)
        self._generator = Generator(bundle, device="cuda" if gpu_at_hand() else "cpu")

    def retrieve(self, query: Query) -> Candidates:
        """The k most probable eligible items; popular ones without a history."""
        return self.retrieve_batch([query])[0]

    def retrieve_batch(self, queries: Sequence[Query]) -> list[Candidates]:
        """One list a query; those with a history are decoded together."""
        warm = [query for query in queries if len(query.history)]
        results = iter(self._generator.generate(warm) if warm else [])
        return [self._finished(query, next(results)) if len(query.history) else self._cold(query) for query in queries]

    def _cold(self, query: Query) -> Candidates:
        return self._backfill.cold(query)

    def _finished(self, query: Query, result: BeamResult) -> Candidates:
        sources = np.full(len(result.items), _GR, np.uint8)
        anchor = int(query.history[-1])
        found = self._backfill.complete(query, anchor, result.items, result.scores, sources)
        return Candidates(found.items, found.scores, found.sources, result.exact)


def open(bundle: Bundle, name: RetrieverName) -> GrRetriever:  # noqa: A001
    """The retriever."""
    return GrRetriever(bundle, name)
