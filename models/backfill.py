"""Filling a short list: text neighbours of the anchor, then popular items, each labelled `backfill`.

The text neighbours are the m that the bundle stores. Where stock or a filter leaves too few of those, they are the m
nearest items that stock and filter allow, found by a scan. Scores are the cosine, then the percentile rank of
popularity, lowered where needed so that they never increase along the list.
"""

import numpy as np
import numpy.typing as npt

from models.bundle import layout
from models.bundle.reader import Bundle
from models.chosen import Chosen, Rule, finished, may_enter, room_for, rule_of
from models.kernels import compiled, read_only
from models.popular import Popular, add_popular, most_popular
from models.retrieval import Candidates, Eligible, Query
from models.similarity import Floats, Items, Mask, dot, nearest_of
from models.topk import listed
from models.words import SOURCE_CODE, Source

REQUIRES = (layout.EMBEDDINGS, layout.TEXT_NEIGHBOURS, layout.POPULARITY, layout.POPULAR_ORDER)
"""Artifacts that filling a list needs."""

_BACKFILL = SOURCE_CODE[Source.BACKFILL]


@compiled
def add_neighbours(embeddings: Floats, anchor: int, row: Items, rule: Rule, source: int, out: Chosen, n: int) -> int:
    """Append items near an anchor, best first, until the room is full or the row ends; the list's new length."""
    ceiling = np.float64(out.scores[n - 1]) if n else np.inf
    for item in row:
        if n == len(out.items) or item < 0:
            break
        if may_enter(item, rule, out.items[:n]):
            ceiling = min(ceiling, dot(embeddings[anchor], embeddings[item]))
            out.items[n], out.scores[n], out.sources[n] = item, ceiling, source
            n += 1
    return n


class Backfill:
    """Finishes the lists of every retriever over one bundle.

    Attributes:
        embeddings: float32 [n, d], zero = no text.
        neighbours: int32 [n, m], stored text neighbours, best first, padded with -1.
        popular: items by popularity.
    """

    def __init__(self, bundle: Bundle) -> None:
        self.embeddings: Floats = bundle.array(layout.EMBEDDINGS)
        self.neighbours: Items = bundle.array(layout.TEXT_NEIGHBOURS)
        self.popular = Popular.open(bundle)

    def cold(self, query: Query) -> Candidates:
        """The list of a user without history: popular items, or none where the query forbids filling."""
        return most_popular(self.popular, query) if query.fill else finished(room_for(0), 0)

    def nearest(self, anchor: int, mask: Mask, few: Items | None, depth: int) -> Items:
        """The items with text, of those that a mask allows, that are nearest to an anchor, itself left out.

        Args:
            anchor: item index, of an item with text.
            mask: bool [n].
            few: the same items, where they are listed.
            depth: number wanted.
        """
        allowed = read_only(np.flatnonzero(mask).astype(np.int32) if few is None else few)
        items, _ = listed(nearest_of(self.embeddings, anchor, allowed, depth))
        return read_only(items)

    def finish(self, query: Query, rule: Rule, anchor: int, out: Chosen, n: int) -> Candidates:
        """The first n items of `out`, filled up to k if the query allows and the catalogue can.

        Args:
            query: the request.
            rule: what may be returned.
            anchor: item index whose text neighbours fill the list.
            out: room for `query.k` items, n of them chosen.
            n: how many are chosen.
        """
        if n < query.k and query.fill:
            n = self._fill(query.eligible, rule, anchor, out, n)
        return finished(out, n)

    def complete(
        self, query: Query, anchor: int, items: Items, scores: Floats, sources: npt.NDArray[np.uint8]
    ) -> Candidates:
        """A list of at most k eligible items, best first, filled likewise."""
        if len(items) == query.k:
            return Candidates(items, scores, sources)
        out, n = room_for(query.k), len(items)
        out.items[:n], out.scores[:n], out.sources[:n] = items, scores, sources
        return self.finish(query, rule_of(query.eligible), anchor, out, n)

    def _fill(self, eligible: Eligible, rule: Rule, anchor: int, out: Chosen, n: int) -> int:
        row = self.neighbours[anchor]
        n = add_neighbours(self.embeddings, anchor, row, rule, _BACKFILL, out, n)
        if n < len(out.items) and eligible.mask is not None and row[0] >= 0:
            near = self.nearest(anchor, eligible.mask, eligible.few, len(row))
            n = add_neighbours(self.embeddings, anchor, near, rule, _BACKFILL, out, n)
        if n < len(out.items):
            ceiling = float(out.scores[n - 1]) if n else np.inf
            popular = self.popular.among(eligible, len(out.items))
            n = add_popular(popular, rule, _BACKFILL, ceiling, out, n)
        return n
