"""TGH as the design states it, written again in plain Python: sets, lists and sorting, no arrays, no stored lists."""

import math
from collections import defaultdict

import numpy as np

from models.retrieval import Query
from models.words import Order, RetrieverName
from tests.shop import Shop

Scored = tuple[int, float]

BUDGETS = {RetrieverName.TGH_1: [(7, 2, 1)], RetrieverName.TGH_2: [(5, 1), (3, 1)]}


def counts_of(shop: Shop) -> dict[int, dict[int, int]]:
    """How often j follows i."""
    counts: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for source, target, count in shop.edges:
        counts[source][target] += count
    return counts


def rings_of(shop: Shop, anchor: int) -> list[set[int]]:
    """Rings 1, 2, 3."""
    counts = counts_of(shop)
    reached, rings = {anchor}, [set(counts[anchor])]
    reached |= rings[0]
    for _ in range(2):
        ring = {target for source in rings[-1] for target in counts[source]} - reached
        rings.append(ring)
        reached |= ring
    return rings


def cosine(shop: Shop, left: int, right: int) -> float:
    """Before rounding to float32."""
    pairs = zip(shop.embeddings[left].tolist(), shop.embeddings[right].tolist(), strict=True)
    return math.fsum(a * b for a, b in pairs)


def score(shop: Shop, anchor: int, item: int, ring: int) -> float:
    """`e_s . e_c`, in ring 1 plus alpha times the edge weight."""
    value = cosine(shop, anchor, item)
    if ring == 1:
        row = counts_of(shop)[anchor]
        weight = math.log1p(row[item]) / max(math.log1p(count) for count in row.values())
        value += shop.rings.alpha * float(np.float32(weight))
    return float(np.float32(value))


def ranked(scored: list[Scored]) -> list[Scored]:
    """Best first, ties by item index."""
    return sorted(scored, key=lambda pair: (-pair[1], pair[0]))


def scaled(budgets: list[int], k: int) -> list[int]:
    """In proportion to k, largest remainder, ties to the earlier one."""
    exact = [budget * k / sum(budgets) for budget in budgets]
    shares = [math.floor(share + 1e-9) for share in exact]
    order = sorted(range(len(budgets)), key=lambda place: (-round(exact[place] - shares[place], 9), place))
    for place in order[: k - sum(shares)]:
        shares[place] += 1
    return shares


def from_anchor(shop: Shop, anchor: int, budgets: list[int], allowed: set[int]) -> list[Scored]:
    """One anchor's selection, in ring order, made-up items before a ring's own."""
    chosen: list[Scored] = []
    aside: list[list[Scored]] = []
    for number, (ring, budget) in enumerate(zip(rings_of(shop, anchor), budgets, strict=False), start=1):
        members = ranked([(item, score(shop, anchor, item, number)) for item in ring & allowed])
        own, rest = members[:budget], members[budget:]
        for kept in aside:
            while kept and len(own) < budget:
                chosen.append(kept.pop(0))
                budget -= 1
        chosen += own
        aside.append(rest)
    for kept in aside:
        while kept and len(chosen) < sum(budgets):
            chosen.append(kept.pop(0))
    return chosen


def tgh(shop: Shop, name: RetrieverName, query: Query) -> list[Scored]:
    """The list before backfill."""
    shape = BUDGETS[name]
    shares = scaled([budget for anchor in shape for budget in anchor], query.k)
    width = len(shape[0])
    budgets = [shares[start : start + width] for start in range(0, len(shares), width)]
    anchors = query.history.tolist()[::-1][: len(shape)]
    if len(anchors) < len(budgets):
        budgets = [[sum(column) for column in zip(*budgets, strict=True)]]
    allowed = {item for item in range(shop.n_items) if query.eligible.dense()[item]}
    chosen: list[Scored] = []
    for anchor, shares in zip(anchors, budgets, strict=True):
        chosen += from_anchor(shop, anchor, shares, allowed - {item for item, _ in chosen})
    return ranked(chosen) if query.order is Order.SCORE else chosen


def near(shop: Shop, anchor: int, allowed: set[int]) -> list[int]:
    """Items with text, nearest first; none for an anchor without text."""
    texts = {item for item in range(shop.n_items) if shop.embeddings[item].any()}
    if anchor not in texts:
        return []
    pairs = [(item, float(np.float32(cosine(shop, anchor, item)))) for item in (texts & allowed) - {anchor}]
    return [item for item, _ in ranked(pairs)]


def backfill(shop: Shop, query: Query, chosen: list[int]) -> list[int]:
    """What fills the list: text neighbours of the last item, then popular items."""
    everything = set(range(shop.n_items))
    mask = query.eligible.mask
    in_stock = everything if mask is None else {item for item in everything if mask[item]}
    popular = sorted(everything, key=lambda item: (-int(shop.popularity[item]), item))
    m = min(shop.neighbours.m, shop.n_items - 1)
    wanted = near(shop, int(query.history[-1]), everything)[:m]
    still = [item for item in wanted if query.eligible.dense()[item] and item not in chosen]
    if len(still) < query.k - len(chosen):
        wanted = near(shop, int(query.history[-1]), in_stock)[:m]
    allowed = [item for item in [*wanted, *popular] if query.eligible.dense()[item] and item not in chosen]
    return list(dict.fromkeys(allowed))[: query.k - len(chosen)]
