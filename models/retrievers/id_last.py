"""`id-last`: the items whose factors are nearest to the last item's; items without interactions come as backfill."""

from collections.abc import Sequence

import numpy as np

from models import backfill
from models.backfill import Backfill
from models.bundle import layout
from models.bundle.reader import Bundle
from models.chosen import rule_of
from models.retrieval import Candidates, Query
from models.similarity import Floats, nearest
from models.words import SOURCE_CODE, RetrieverName, Source

REQUIRES = (layout.ID_VECTORS, *backfill.REQUIRES)

_ID = SOURCE_CODE[Source.ID]


class IdLastRetriever:
    """Cosine of factors with the last item, which is no candidate itself."""

    def __init__(self, bundle: Bundle, name: RetrieverName = RetrieverName.ID_LAST) -> None:
        self.name, self._backfill = name, Backfill(bundle)
        self._factors: Floats = bundle.array(layout.ID_VECTORS)

    def retrieve(self, query: Query) -> Candidates:
        """The k nearest items that may be returned."""
        if not len(query.history):
            return self._backfill.cold(query)
        anchor, rule = int(query.history[-1]), rule_of(query.eligible)
        items, scores = nearest(self._factors, anchor, rule.mask, rule.blocked, query.k)
        return self._backfill.complete(query, anchor, items, scores, np.full(len(items), _ID, np.uint8))

    def retrieve_batch(self, queries: Sequence[Query]) -> list[Candidates]:
        """One list a query."""
        return [self.retrieve(query) for query in queries]


def open(bundle: Bundle, name: RetrieverName) -> IdLastRetriever:  # noqa: A001
    """The retriever."""
    return IdLastRetriever(bundle, name)
