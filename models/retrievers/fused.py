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
from models.retrieval import Candidates, Items, Query, StageClock
from models.similarity import Floats
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
        if not len(query.history):
            return self._backfill.cold(query)
        clock = StageClock()
        vector = self._dense.encoder.encode(query.history)
        clock.end("encode")
        anchors = query.history[: -self._weights.anchors - 1 : -1].copy()
        items = self._pool(query, vector, anchors)
        clock.end("search")
        scores = self._scores(query, vector, anchors, items)
        best = np.lexsort((items, -scores))[: query.k]
        sources = np.full(len(best), _FUSED, np.uint8)
        found = self._backfill.complete(query, int(anchors[0]), items[best], scores[best], sources)
        clock.end("rerank")
        return replace(found, stages=clock.taken)

    def _pool(self, query: Query, vector: Floats, anchors: Items) -> Items:
        """int32, ascending, unique: eligible items worth a score."""
        near, _ = self._dense.index.search(vector, max(self._weights.pool, query.k), query.eligible)
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

    def retrieve_batch(self, queries: Sequence[Query]) -> list[Candidates]:
        """One list a query."""
        return [self.retrieve(query) for query in queries]


def open(bundle: Bundle, name: RetrieverName) -> FusedRetriever:  # noqa: A001
    """The retriever."""
    return FusedRetriever(bundle, name)
