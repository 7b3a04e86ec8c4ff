"""The last look at a worker's list: stock may have changed since the request was sent."""

from dataclasses import replace

import numpy as np

from models.filters import both, eligible
from models.retrieval import Candidates, Query
from models.words import SOURCE_CODE, RetrieverName, Source
from service.engine import Engine


def in_stock(engine: Engine, query: Query, found: Candidates) -> Candidates:
    """The list without items that may not be sold any more, made up by popular ones labelled `backfill`."""
    mask = engine.stock.mask
    if mask is None or mask[found.items].all():
        return found
    kept = mask[found.items]
    items, scores, sources = found.items[kept], found.scores[kept], found.sources[kept]
    blocked = np.concatenate([query.eligible.blocked, items])
    rule = eligible(query.eligible.n_items, both(query.eligible.mask, mask), blocked)
    more = engine.retrievers[RetrieverName.POPULAR].retrieve(
        replace(query, k=len(found.items) - len(items), eligible=rule)
    )
    floor = scores.min() if len(scores) else np.float32(0)
    return replace(
        found,
        items=np.concatenate([items, more.items]),
        scores=np.concatenate([scores, np.full(len(more.items), floor, np.float32)]),
        sources=np.concatenate([sources, np.full(len(more.items), SOURCE_CODE[Source.BACKFILL], np.uint8)]),
        exact=False if found.exact is not None else None,
    )
