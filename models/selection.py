"""Selection and order of a TGH list from ring lists, as one kernel. Source: arXiv 2605.07125.

A ring gives its best items up to its budget and keeps the rest aside. A ring that holds fewer than its budget is made
up from what nearer rings kept aside, and what its anchor still misses at the end is taken from all that its rings kept
aside, nearest ring first each time. A second anchor leaves out what the first chose. Items that may not be returned
are passed over as if no ring held them.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from models.budgets import Budgets
from models.chosen import Chosen, Rule, may_enter
from models.kernels import compiled
from models.similarity import Floats, Items

UNPROVEN = -1
"""The stored lists end before the answer is certain."""

Spans = npt.NDArray[np.int64]


class RingStore(NamedTuple):
    """Ring lists to look up; read-only arrays. See `models.bundle.layout`.

    Attributes:
        offsets: int64 [rows + 1].
        ends: int32 [rows, 3].
        sizes: int32 [rows, 3].
        items: int32.
        scores: float32.
    """

    offsets: npt.NDArray[np.int64]
    ends: Items
    sizes: Items
    items: Items
    scores: Floats


@compiled
def _take(store: RingStore, span: Spans, source: int, wanted: int, rule: Rule, out: Chosen, n: int) -> int:
    """Move items from the span's head until the list holds `wanted`; its new length."""
    while n < wanted and span[0] < span[1]:
        item = store.items[span[0]]
        if may_enter(item, rule, out.items[:n]):
            out.items[n], out.scores[n], out.sources[n] = item, store.scores[span[0]], source
            n += 1
        span[0] += 1
    return n


@compiled
def _count(store: RingStore, span: Spans, limit: int, rule: Rule, chosen: Items) -> int:
    """How many items of the span could be taken, up to `limit`."""
    found = 0
    for place in range(span[0], span[1]):
        if found == limit:
            break
        found += may_enter(store.items[place], rule, chosen)
    return found


@compiled
def _kept_aside(store: RingStore, spans: Spans, rings: int, wanted: int, rule: Rule, out: Chosen, n: int) -> int:
    """Take what the first rings kept aside, nearest first, until the list holds `wanted`; its new length."""
    for ring in range(rings):
        n = _take(store, spans[ring], ring, wanted, rule, out, n)
        if n < wanted and spans[ring, 2]:
            return UNPROVEN
    return n


@compiled
def _spans(store: RingStore, row: int) -> Spans:
    """int64 [3, 3]: where each ring begins and ends in the store, and how many of its items the store lacks."""
    spans = np.empty((3, 3), np.int64)
    begin = np.int64(0)
    for ring in range(3):
        end = np.int64(store.ends[row, ring])
        spans[ring, 0], spans[ring, 1] = store.offsets[row] + begin, store.offsets[row] + end
        spans[ring, 2] = store.sizes[row, ring] - (end - begin)
        begin = end
    return spans


@compiled
def _from_anchor(store: RingStore, row: int, budgets: Budgets, rule: Rule, out: Chosen, n: int) -> int:
    """One anchor's items, each ring's made-up items before its own; the list's new length."""
    spans, rings, total = _spans(store, row), 0, n
    for ring in range(3):
        budget = budgets[ring]
        if budget < 0:
            break
        rings, total = ring + 1, total + budget
        own = _count(store, spans[ring], budget, rule, out.items[:n])
        if own < budget and spans[ring, 2]:
            return UNPROVEN
        n = _kept_aside(store, spans, ring, n + budget - own, rule, out, n)
        if n == UNPROVEN:
            return UNPROVEN
        n = _take(store, spans[ring], ring, n + own, rule, out, n)
    return _kept_aside(store, spans, rings, total, rule, out, n)


@compiled
def _sort(out: Chosen, n: int) -> None:
    """Best score first, ties by item index; the list comes in a few sorted runs, which insertion suits."""
    for place in range(1, n):
        item, score, source = out.items[place], out.scores[place], out.sources[place]
        at = place
        while at and (out.scores[at - 1] < score or (out.scores[at - 1] == score and out.items[at - 1] > item)):
            out.items[at], out.scores[at], out.sources[at] = out.items[at - 1], out.scores[at - 1], out.sources[at - 1]
            at -= 1
        out.items[at], out.scores[at], out.sources[at] = item, score, source


@compiled
def select(store: RingStore, first: int, second: int, budgets: Budgets, rule: Rule, by_score: bool, out: Chosen) -> int:
    """Fill `out` from the ring lists of one or two anchors.

    Args:
        store: ring lists.
        first: row of the last item.
        second: row of the item before it; ignored when there is one row of budgets.
        budgets: int64 [anchors, 3], their sum at most the room of `out`, -1 = the ring takes no part.
        rule: what may be returned.
        by_score: order the list by score, else anchor by anchor and ring by ring.
        out: room for k items; sources become 0, 1, 2 for rings 1, 2, 3.

    Returns:
        The number of items chosen, or `UNPROVEN`.
    """
    n = _from_anchor(store, first, budgets[0], rule, out, 0)
    if n != UNPROVEN and len(budgets) > 1:
        n = _from_anchor(store, second, budgets[1], rule, out, n)
    if n != UNPROVEN and by_score:
        _sort(out, n)
    return n
