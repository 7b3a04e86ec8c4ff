"""`fused`: DR, the transition graph, texts and the prior in one sum; see `models.fusion`."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from models import backfill, dense
from models.backfill import Backfill
from models.bundle import layout
from models.bundle.reader import Bundle
from models.dense import Dense
from models.fusion import FusionWeights, cosines, fused_scores
from models.kernels import read_only
from models.retrieval import Candidates, Items, Query, StageClock, with_history
from models.similarity import Floats
from models.topk import ranked
from models.value import item_values, present_components
from models.words import SOURCE_CODE, RetrieverName, Source

REQUIRES = (
    *dense.REQUIRES,
    *backfill.REQUIRES,
    layout.VALUE_COMPONENTS,
    layout.GRAPH_OFFSETS,
    layout.GRAPH_TARGETS,
    layout.GRAPH_WEIGHTS,
)

_FUSED = SOURCE_CODE[Source.FUSED]


class FusedRetriever:
    """The best of a pool that DR, the graph and the texts propose."""

    def __init__(self, bundle: Bundle, name: RetrieverName = RetrieverName.FUSED) -> None:
        self.name, self._dense, self._backfill = name, Dense.of(bundle), Backfill(bundle)
        self.at_once = self._dense.index.at_once
        self._vectors: Floats = read_only(bundle.array(layout.ITEM_VECTORS))
        self._components: Floats = bundle.array(layout.VALUE_COMPONENTS)
        self._present = present_components(bundle.manifest.sections)
        self._graph = (
            read_only(bundle.array(layout.GRAPH_OFFSETS)),
            read_only(bundle.array(layout.GRAPH_TARGETS)),
            read_only(bundle.array(layout.GRAPH_WEIGHTS)),
        )
        self._weights = FusionWeights()

    def retrieve(self, query: Query) -> Candidates:
        """The k items of the highest sum; popular ones without a history."""
        return self.retrieve_batch([query])[0]

    def retrieve_batch(self, queries: Sequence[Query]) -> list[Candidates]:
        """One list a query, encoded and searched together."""
        return with_history(queries, self._backfill.cold, self._ranked)

    def _ranked(self, queries: Sequence[Query]) -> list[Candidates]:
        clock = StageClock()
        vectors = self._dense.encoder.encode([query.history for query in queries])
        clock.end("encode")
        depths = [max(self._weights.pool, query.k) for query in queries]
        near = self._dense.index.search(vectors, depths, [query.eligible for query in queries])
        clock.end("search")
        lists = [self._rerank(*each) for each in zip(queries, vectors, (items for items, _ in near), strict=True)]
        clock.end("rerank")
        return [replace(found, stages=clock.taken) for found in lists]

    def _rerank(self, query: Query, vector: Floats, near: Items) -> Candidates:
        anchors = query.history[: -self._weights.anchors - 1 : -1].copy()
        items = self._pool(query, near, anchors)
        scores = self._scores(query, vector, anchors, items)
        items, scores = ranked(items, scores, query.k)
        sources = np.full(len(items), _FUSED, np.uint8)
        return self._backfill.complete(query, int(anchors[0]), items, scores, sources)

    def _pool(self, query: Query, near: Items, anchors: Items) -> Items:
        """int32, ascending, unique: eligible items worth a score."""
        offsets, targets, _ = self._graph
        followed = [targets[offsets[anchor] : offsets[anchor + 1]] for anchor in anchors]
        texts = self._backfill.neighbours[anchors[0]]
        others = np.concatenate([*followed, texts[texts >= 0]])
        pool: Items = np.unique(np.concatenate([near, others[query.eligible.allows(others)]])).astype(np.int32)
        return pool

    def _scores(self, query: Query, vector: Floats, anchors: Items, items: Items) -> Floats:
        similarities = cosines(self._vectors, items, vector)
        values = item_values(self._components[items], query.value.weights, self._present)
        texts = read_only(self._backfill.embeddings)
        return fused_scores(items, similarities, values, anchors, self._graph, texts, self._weights)


def open(bundle: Bundle, name: RetrieverName) -> FusedRetriever:  # noqa: A001
    """The retriever."""
    return FusedRetriever(bundle, name)
