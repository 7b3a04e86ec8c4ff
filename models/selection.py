"""Selection and order of a TGH list from ring lists, as one kernel. Source: arXiv 2605.07125.

A ring gives its best items up to its budget and keeps the rest aside. A ring that holds fewer than its budget is made
up from what nearer rings kept aside, and what its anchor still misses at the end is taken from all that its rings kept
aside, nearest ring first each time. A second anchor leaves out what the first chose. Items that may not be returned
are passed over as if no ring held them.

Kernels take plain arrays: a tuple of arrays costs more at each call than the work that the call does.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from models.budgets import Budgets
from models.chosen import Chosen, Rule
from models.kernels import compiled, inlined
from models.similarity import Floats, Items, Mask, is_allowed

UNPROVEN = -1
"""The stored lists end before the answer is certain."""

HEAD, TAIL, LACKING = 0, 1, 2
Spans = npt.NDArray[np.int64]
"""int64 [3, 3]: a row a ring, where it begins and ends in the store, and how many of its items the store lacks."""
Sources = npt.NDArray[np.uint8]


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


@inlined
def _may_enter(item: int, mask: Mask, blocked: Items, chosen: Items, before: int) -> bool:
    """Whether an item may be returned and no earlier anchor chose it; the rings of one anchor share no item."""
    if not is_allowed(item, mask, blocked):
        return False
    for place in range(before):  # noqa: SIM110 - generators do not compile
        if chosen[place] == item:
            return False
    return True


@inlined
def _take(
    items: Items,
    scores: Floats,
    spans: Spans,
    ring: int,
    wanted: int,
    mask: Mask,
    blocked: Items,
    chosen: Items,
    chosen_scores: Floats,
    sources: Sources,
    before: int,
    n: int,
) -> int:
    """Move items from the ring's head until the list holds `wanted`; its new length."""
    place, tail = spans[ring, HEAD], spans[ring, TAIL]
    while n < wanted and place < tail:
        item = items[place]
        if _may_enter(item, mask, blocked, chosen, before):
            chosen[n], chosen_scores[n], sources[n] = item, scores[place], ring
            n += 1
        place += 1
    spans[ring, HEAD] = place
    return n


@inlined
def _spans(offsets: npt.NDArray[np.int64], ends: Items, sizes: Items, row: int) -> Spans:
    spans = np.empty((3, 3), np.int64)
    begin = np.int64(0)
    for ring in range(3):
        end = np.int64(ends[row, ring])
        spans[ring, HEAD], spans[ring, TAIL] = offsets[row] + begin, offsets[row] + end
        spans[ring, LACKING] = sizes[row, ring] - (end - begin)
        begin = end
    return spans


@inlined
def _make_up(
    items: Items,
    scores: Floats,
    spans: Spans,
    rings: int,
    wanted: int,
    mask: Mask,
    blocked: Items,
    chosen: Items,
    chosen_scores: Floats,
    sources: Sources,
    before: int,
    n: int,
) -> int:
    """Fill up to `wanted` from what the nearest `rings` kept aside; the new length."""
    for ring in range(rings):
        n = _take(items, scores, spans, ring, wanted, mask, blocked, chosen, chosen_scores, sources, before, n)
        if n < wanted and spans[ring, LACKING]:
            return UNPROVEN
    return n


@compiled
def _to_front(row: npt.NDArray[Any], begin: int, middle: int, end: int) -> None:
    """Let what lies at middle:end come before what lies at begin:middle."""
    kept = row[begin:middle].copy()
    for place in range(middle, end):
        row[place - len(kept)] = row[place]
    row[end - len(kept) : end] = kept


@inlined
def _from_anchor(
    items: Items,
    scores: Floats,
    spans: Spans,
    budgets: Budgets,
    mask: Mask,
    blocked: Items,
    chosen: Items,
    chosen_scores: Floats,
    sources: Sources,
    before: int,
) -> int:
    """One anchor's items behind the `before` that are there, each ring's made-up items before its own; the new length.

    Each ring is asked in turn: its own items, then what nearer rings kept aside makes up for what it lacks. Past the
    last ring that takes part, what is still missing comes from all of them.
    """
    n, total, ring = before, before, 0
    while ring < 3 and budgets[ring] >= 0:
        begin, wanted = n, n + budgets[ring]
        total += budgets[ring]
        n = _take(items, scores, spans, ring, wanted, mask, blocked, chosen, chosen_scores, sources, before, n)
        if n < wanted:
            if spans[ring, LACKING]:
                return UNPROVEN
            middle = n
            n = _make_up(items, scores, spans, ring, wanted, mask, blocked, chosen, chosen_scores, sources, before, n)
            if n == UNPROVEN:
                return UNPROVEN
            if begin < middle < n:
                _to_front(chosen, begin, middle, n)
                _to_front(chosen_scores, begin, middle, n)
                _to_front(sources, begin, middle, n)
        ring += 1
    return _make_up(items, scores, spans, ring, total, mask, blocked, chosen, chosen_scores, sources, before, n)


@inlined
def _sort(items: Items, scores: Floats, sources: Sources, n: int) -> None:
    """Best score first, ties by item index; the list comes in a few sorted runs, which insertion suits."""
    for place in range(1, n):
        item, score, source = items[place], scores[place], sources[place]
        at = place
        while at and (scores[at - 1] < score or (scores[at - 1] == score and items[at - 1] > item)):
            items[at], scores[at], sources[at] = items[at - 1], scores[at - 1], sources[at - 1]
            at -= 1
        items[at], scores[at], sources[at] = item, score, source


@compiled
def _select(
    offsets: npt.NDArray[np.int64],
    ends: Items,
    sizes: Items,
    items: Items,
    scores: Floats,
    first: int,
    second: int,
    budgets: Budgets,
    mask: Mask,
    blocked: Items,
    by_score: bool,
    chosen: Items,
    chosen_scores: Floats,
    sources: Sources,
) -> int:
    n = 0
    for anchor in range(len(budgets)):
        spans = _spans(offsets, ends, sizes, second if anchor else first)
        n = _from_anchor(items, scores, spans, budgets[anchor], mask, blocked, chosen, chosen_scores, sources, n)
        if n == UNPROVEN:
            return n
    if by_score:
        _sort(chosen, chosen_scores, sources, n)
    return n


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
    mask, blocked = rule
    chosen, scores, sources = out
    return _select(*store, first, second, budgets, mask, blocked, by_score, chosen, scores, sources)
