"""TGH: looks up stored ring lists and merges them; where these cannot prove the answer, computes the rings anew.

Source: arXiv 2605.07125. Serving and evaluation call the same code.
"""

import numpy as np

from models.backfill import REQUIRES as BACKFILL_REQUIRES
from models.backfill import Backfill
from models.budgets import TGH_BUDGETS, Budgets, anchor_budgets
from models.bundle import layout
from models.bundle.reader import Bundle
from models.chosen import Chosen, Rule, room_for, rule_of
from models.eligible_rings import EligibleRings
from models.graph import Graph
from models.retrieval import Candidates, Eligible, Query
from models.ring_store import SECTION
from models.rings import RingConfig
from models.selection import UNPROVEN, RingStore, select
from models.words import SOURCE_CODE, Order, RetrieverName, Source

REQUIRES = (
    *BACKFILL_REQUIRES,
    layout.GRAPH_OFFSETS,
    layout.GRAPH_TARGETS,
    layout.GRAPH_COUNTS,
    layout.GRAPH_WEIGHTS,
    layout.RING_OFFSETS,
    layout.RING_ENDS,
    layout.RING_SIZES,
    layout.RING_ITEMS,
    layout.RING_SCORES,
)
"""Artifacts that TGH needs."""

if [SOURCE_CODE[source] for source in (Source.HOP1, Source.HOP2, Source.HOP3)] != [0, 1, 2]:
    raise ImportError("the kernel numbers rings as the first three sources")


class Tgh:
    """TGH over one bundle, with the budgets of `tgh-1` or `tgh-2`.

    Attributes:
        name: which of the two.
        backfill: fills short lists.
    """

    def __init__(self, bundle: Bundle, name: RetrieverName) -> None:
        facts, defaults = bundle.manifest.sections.get(SECTION, {}), RingConfig()
        self.name, self.backfill = name, Backfill(bundle)
        self._anchors = len(TGH_BUDGETS[name])
        self._store = RingStore(*(bundle.array(part) for part in REQUIRES[-5:]))
        graph = Graph(*(bundle.array(part) for part in REQUIRES[-9:-5]))
        alpha, max_walks = facts.get("alpha", defaults.alpha), int(facts.get("max_walks", defaults.max_walks))
        self._eligible = EligibleRings(graph, self.backfill.embeddings, self._store, alpha, max_walks)
        self._warm(bundle.n_items)

    def _warm(self, n_items: int) -> None:
        """Compile, or load from the disk, every kernel that a query may call."""
        query = Query(np.zeros(2, np.int32), 1, Eligible(n_items, np.ones(n_items, np.bool_)))
        rule, budgets = rule_of(query.eligible), anchor_budgets(self.name, 1, self._anchors)
        self._computed(query, budgets, rule, room_for(1))
        self.retrieve(query)
        # More than neighbours can fill, so that popular items are asked too; filling the whole catalogue is quadratic.
        room = room_for(min(n_items + 1, 2 * self.backfill.neighbours.shape[1] + 2))
        self.backfill.finish(query, rule, 0, room, 0)

    def candidates(self, query: Query, rule: Rule, out: Chosen) -> int:
        """Fill `out` for a history that is not empty, without backfill; how many items were chosen."""
        history = query.history
        budgets = anchor_budgets(self.name, query.k, min(self._anchors, len(history)))
        first, second = int(history[-1]), int(history[-2]) if len(budgets) > 1 else 0
        n = select(self._store, first, second, budgets, rule, query.order is Order.SCORE, out)
        return n if n != UNPROVEN else self._computed(query, budgets, rule, out)

    def _computed(self, query: Query, budgets: Budgets, rule: Rule, out: Chosen) -> int:
        """Rings whose list is not proven by what is stored; no ring gives more than the whole list."""
        anchors = tuple(query.history[: -len(budgets) - 1 : -1].tolist())
        wanted = int((budgets >= 0).sum(axis=1).max())
        store = self._eligible.of(anchors, wanted, query.k, rule)
        return select(store, 0, len(budgets) - 1, budgets, rule, query.order is Order.SCORE, out)

    def retrieve(self, query: Query) -> Candidates:
        """The list of a query; see `models.retrieval.Retriever`."""
        if not len(query.history):
            return self.backfill.cold(query)
        rule, out = rule_of(query.eligible), room_for(query.k)
        n = self.candidates(query, rule, out)
        return self.backfill.finish(query, rule, int(query.history[-1]), out, n)
