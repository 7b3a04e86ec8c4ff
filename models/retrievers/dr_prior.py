"""`dr-prior`: DR's pool, ranked by similarity and static item value together. Source: arXiv 2610.19065."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from models import backfill, dense
from models.backfill import Backfill
from models.bundle import layout
from models.bundle.reader import Bundle
from models.dense import Dense
from models.retrieval import Candidates, Items, Query, StageClock, ValueParams, with_history
from models.similarity import Floats
from models.topk import ranked
from models.value import item_values, present_components, prior_scores
from models.words import SOURCE_CODE, RetrieverName, Source

REQUIRES = (*dense.REQUIRES, *backfill.REQUIRES, layout.VALUE_COMPONENTS)

_DR = SOURCE_CODE[Source.DR]


class DrPriorRetriever:
    """The best `max(pool, k)` eligible items of DR, re-ranked; the prior needs no training."""

    def __init__(self, bundle: Bundle, name: RetrieverName = RetrieverName.DR_PRIOR) -> None:
        self.name, self._dense, self._backfill = name, Dense.of(bundle), Backfill(bundle)
        self.at_once = self._dense.index.at_once
        self._components: Floats = bundle.array(layout.VALUE_COMPONENTS)
        self._present = present_components(bundle.manifest.sections)

    def retrieve(self, query: Query) -> Candidates:
        """The k items of the highest mixed score; popular ones without a history."""
        return self.retrieve_batch([query])[0]

    def retrieve_batch(self, queries: Sequence[Query]) -> list[Candidates]:
        """One list a query, encoded and searched together."""
        return with_history(queries, self._backfill.cold, self._ranked)

    def _ranked(self, queries: Sequence[Query]) -> list[Candidates]:
        clock = StageClock()
        near = self._dense.nearest(queries, [max(query.value.pool, query.k) for query in queries], clock)
        lists = [self._rerank(query, *pool) for query, pool in zip(queries, near, strict=True)]
        clock.end("rerank")
        return [replace(found, stages=clock.taken) for found in lists]

    def _rerank(self, query: Query, items: Items, similarities: Floats) -> Candidates:
        scores = prior_scores(similarities, self._values(items, query.value), query.value.alpha)
        items, scores = ranked(items, scores, query.k)
        sources = np.full(len(items), _DR, np.uint8)
        return self._backfill.complete(query, int(query.history[-1]), items, scores, sources)

    def _values(self, items: Items, value: ValueParams) -> Floats:
        return item_values(self._components[items], value.weights, self._present)


def open(bundle: Bundle, name: RetrieverName) -> DrPriorRetriever:  # noqa: A001
    """The retriever."""
    return DrPriorRetriever(bundle, name)
