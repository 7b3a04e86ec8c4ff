"""`id+sem`: the mean of two cosines with the last item, of factors and of texts; what an item lacks counts 0."""

from collections.abc import Sequence

import numpy as np

from models import backfill
from models.backfill import Backfill
from models.bundle import layout
from models.bundle.reader import Bundle
from models.chosen import rule_of
from models.kernels import compiled, read_only
from models.retrieval import Candidates, Query
from models.similarity import Floats, Items, Mask, dot, is_allowed, is_blank
from models.topk import best, pack, unpack
from models.words import SOURCE_CODE, RetrieverName, Source

REQUIRES = (layout.ID_VECTORS, *backfill.REQUIRES)

_ID = SOURCE_CODE[Source.ID]


@compiled
def _scan(factors: Floats, texts: Floats, anchor: int, mask: Mask, blocked: Items, depth: int) -> tuple[Items, Floats]:
    """The `depth` best items that have a factor or a text, and their scores."""
    items, scores, found = np.empty(len(factors), np.int32), np.empty(len(factors), np.float32), 0
    for item in range(len(factors)):
        blank = is_blank(factors[item]) and is_blank(texts[item])
        if item != anchor and not blank and is_allowed(item, mask, blocked):
            items[found] = item
            scores[found] = (dot(factors[anchor], factors[item]) + dot(texts[anchor], texts[item])) / 2
            found += 1
    keys = np.empty(found, np.int64)
    pack(scores[:found], items[:found], keys)
    chosen = best(keys, depth)
    unpack(chosen, scores[: len(chosen)], items[: len(chosen)])
    return items[: len(chosen)], scores[: len(chosen)]


class IdSemRetriever:
    """Both similarities with the last item, which is no candidate itself."""

    def __init__(self, bundle: Bundle, name: RetrieverName = RetrieverName.ID_SEM) -> None:
        self.name, self._backfill = name, Backfill(bundle)
        self._factors: Floats = read_only(bundle.array(layout.ID_VECTORS))

    def retrieve(self, query: Query) -> Candidates:
        """The k best items that may be returned."""
        if not len(query.history):
            return self._backfill.cold(query)
        anchor, rule, texts = int(query.history[-1]), rule_of(query.eligible), read_only(self._backfill.embeddings)
        items, scores = _scan(self._factors, texts, anchor, rule.mask, rule.blocked, query.k)
        return self._backfill.complete(query, anchor, items, scores, np.full(len(items), _ID, np.uint8))

    def retrieve_batch(self, queries: Sequence[Query]) -> list[Candidates]:
        """One list a query."""
        return [self.retrieve(query) for query in queries]


def open(bundle: Bundle, name: RetrieverName) -> IdSemRetriever:  # noqa: A001
    """The retriever."""
    return IdSemRetriever(bundle, name)
