"""`sem-nn`: the items whose text is nearest to the last item's.

The last item is no candidate, even where seen items are: an item is not its own neighbour. Items without text are
neighbours of none; they come in as backfill.
"""

from collections.abc import Sequence

import numpy as np

from models.backfill import REQUIRES, Backfill, add_neighbours
from models.bundle.reader import Bundle
from models.chosen import Chosen, Rule, room_for, rule_of
from models.kernels import read_only
from models.retrieval import Candidates, Eligible, Query
from models.similarity import nearest
from models.words import SOURCE_CODE, RetrieverName, Source

__all__ = ["REQUIRES", "SemNnRetriever", "open"]

_TEXT = SOURCE_CODE[Source.TEXT]


class SemNnRetriever:
    """Cosine with the last item; answered from stored neighbours where these suffice, else by an exact scan."""

    def __init__(self, bundle: Bundle, name: RetrieverName = RetrieverName.SEM_NN) -> None:
        self.name, self._backfill = name, Backfill(bundle)
        # More than the stored neighbours, so that every kernel is compiled; the whole catalogue is quadratic.
        k = min(bundle.n_items + 1, 2 * self._backfill.neighbours.shape[1] + 2)
        for mask in (None, np.ones(bundle.n_items, np.bool_)):
            query = Query(np.zeros(1, np.int32), k, Eligible(bundle.n_items, mask))
            self.retrieve(query)
            self._backfill.finish(query, rule_of(query.eligible), 0, room_for(k), 0)

    def _neighbours(self, query: Query, rule: Rule, anchor: int, out: Chosen) -> int:
        embeddings, row = self._backfill.embeddings, self._backfill.neighbours[anchor]
        n = add_neighbours(embeddings, anchor, row, rule, _TEXT, out, 0)
        if n == query.k or row[0] < 0:
            return n
        mask = query.eligible.mask
        if mask is None:
            near, _ = nearest(embeddings, anchor, rule.mask, rule.blocked, query.k)
        else:
            near = self._backfill.nearest(anchor, mask, query.eligible.few, query.k + len(rule.blocked))
        return add_neighbours(embeddings, anchor, read_only(near), rule, _TEXT, out, 0)

    def retrieve(self, query: Query) -> Candidates:
        """The k nearest items that may be returned; filled with popular ones where fewer have text."""
        if not len(query.history):
            return self._backfill.cold(query)
        anchor, rule, out = int(query.history[-1]), rule_of(query.eligible), room_for(query.k)
        n = self._neighbours(query, rule, anchor, out)
        return self._backfill.finish(query, rule, anchor, out, n)

    def retrieve_batch(self, queries: Sequence[Query]) -> list[Candidates]:
        """One list a query."""
        return [self.retrieve(query) for query in queries]


def open(bundle: Bundle, name: RetrieverName) -> SemNnRetriever:  # noqa: A001
    """The retriever."""
    return SemNnRetriever(bundle, name)
