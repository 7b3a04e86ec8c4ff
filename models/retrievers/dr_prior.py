"""`dr-prior`: DR's pool, ranked by similarity and static item value together. Source: arXiv 2610.19065."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from models import backfill, dense
from models.backfill import Backfill
from models.bundle import layout
from models.bundle.reader import Bundle
from models.dense import Dense
from models.kernels import compiled
from models.retrieval import Candidates, Items, Query, StageClock, with_history
from models.similarity import Floats
from models.topk import Keys, best, listed, pack
from models.value import Doubles, kept_weights, present_components, prior_scores, weighted
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
        weights = kept_weights(query.value.weights, self._present)
        keys = _mixed(self._components, items, similarities, weights, query.value.alpha, query.k)
        items, scores = listed(keys)
        sources = np.full(len(items), _DR, np.uint8)
        return self._backfill.complete(query, int(query.history[-1]), items, scores, sources)


@compiled
def _mixed(components: Floats, items: Items, similarities: Floats, weights: Doubles, alpha: float, depth: int) -> Keys:
    """Keys of the best of a pool by mixed score, best first."""
    own = np.empty((len(items), components.shape[1]), np.float32)
    for place in range(len(items)):
        own[place] = components[items[place]]
    scores, keys = prior_scores(similarities, weighted(own, weights), alpha), np.empty(len(items), np.int64)
    pack(scores, items, keys)
    return best(keys, depth)


def open(bundle: Bundle, name: RetrieverName) -> DrPriorRetriever:  # noqa: A001
    """The retriever."""
    return DrPriorRetriever(bundle, name)
