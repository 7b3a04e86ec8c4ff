"""Items by popularity: the list for users without history, and the last resort of every other list."""

from typing import NamedTuple, Self

import numpy as np

from models.bundle import layout
from models.bundle.reader import Bundle
from models.chosen import Chosen, Rule, finished, may_enter, room_for, rule_of
from models.kernels import compiled, read_only
from models.retrieval import Candidates, Eligible, Query
from models.similarity import Floats, Items
from models.topk import ranked
from models.value import percentile_rank
from models.words import SOURCE_CODE, Source

_POPULAR = SOURCE_CODE[Source.POPULAR]


class Popular(NamedTuple):
    """Items by popularity; read-only arrays.

    Attributes:
        order: int32 [n], most popular first, ties by item index.
        ranks: float32 [n], percentile rank of each item's popularity.
    """

    order: Items
    ranks: Floats

    @classmethod
    def open(cls, bundle: Bundle) -> Self:
        """From a bundle.

        Raises:
            BundleError: the bundle lacks the popularity.
        """
        ranks = percentile_rank(bundle.array(layout.POPULARITY)).astype(np.float32)
        return cls(bundle.array(layout.POPULAR_ORDER), read_only(ranks))

    def among(self, eligible: Eligible, k: int) -> "Popular":
        """As many of what the mask allows as k items can need; all items where those that it allows are not listed."""
        if eligible.few is None:
            return self
        few = read_only(eligible.few)
        items, _ = ranked(few, self.ranks[few], k + len(eligible.blocked))
        return Popular(read_only(items), self.ranks)


@compiled
def add_popular(popular: Popular, rule: Rule, source: int, ceiling: float, out: Chosen, n: int) -> int:
    """Append popular items until the room is full or the catalogue is through; the list's new length."""
    for item in popular.order:
        if n == len(out.items):
            break
        if may_enter(item, rule, out.items[:n]):
            out.items[n], out.scores[n], out.sources[n] = item, min(popular.ranks[item], ceiling), source
            n += 1
    return n


def most_popular(popular: Popular, query: Query) -> Candidates:
    """The k most popular items that may be returned, scored by percentile rank, source `popular`."""
    out = room_for(query.k)
    popular = popular.among(query.eligible, query.k)
    return finished(out, add_popular(popular, rule_of(query.eligible), _POPULAR, np.inf, out, 0))
