"""Rings computed for a request are the whole rings without what may not be returned."""

from itertools import pairwise

import numpy as np
import pytest

from models.chosen import rule_of
from models.eligible_rings import EligibleRings
from models.filters import eligible
from models.graph import Graph, build_graph
from models.kernels import read_only
from models.ring_lists import NO_LIMIT, ring_block
from models.rings import N_RINGS, RingConfig, RingInputs, reverse, ring_inputs
from models.selection import RingStore
from tests.shop import Shop, odd_shop

ALPHA = 0.5


def inputs_of(shop: Shop) -> tuple[Graph, RingInputs]:
    sources, targets, counts = np.array(shop.edges).T
    graph = build_graph(sources, targets, counts, shop.n_items)
    return graph, ring_inputs(graph, shop.embeddings)


def stored(shop: Shop, inputs: RingInputs, graph: Graph, max_walks: int) -> RingStore:
    """Rings of all anchors, those beyond `max_walks` probed, as a bundle holds them."""
    n_items, n_near = shop.n_items, 5
    neighbours = np.array([np.argsort(-shop.embeddings @ row)[:n_near] for row in shop.embeddings], np.int32)
    config, anchors = RingConfig(alpha=ALPHA, max_walks=max_walks), np.arange(n_items, dtype=np.int32)
    block = ring_block(inputs, reverse(graph), neighbours, config, anchors)
    offsets = np.append(0, np.cumsum(block.ends[:, -1])).astype(np.int64)
    return RingStore(*map(read_only, (offsets, block.ends, block.sizes, block.items, block.scores)))


def rings_of(store: RingStore, row: int) -> list[list[tuple[int, float]]]:
    """Items and scores of the rings of a row."""
    begins = store.offsets[row] + np.append(0, store.ends[row])
    pairs = list(zip(store.items.tolist(), store.scores.tolist(), strict=True))
    return [pairs[begin:end] for begin, end in pairwise(begins)]


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("max_walks", [NO_LIMIT, 12, 4, 0])
@pytest.mark.parametrize("wanted", [1, 2, 3])
@pytest.mark.parametrize("depth", [1, 3, 100])
def test_rings_are_the_whole_ones_without_what_may_not_be_returned(
    wanted: int, max_walks: int, masked: bool, depth: int
) -> None:
    shop = odd_shop(1, n_items=40)
    graph, inputs = inputs_of(shop)
    store, draw = stored(shop, inputs, graph, max_walks), np.random.default_rng(0)
    rings = EligibleRings(graph, shop.embeddings, store, ALPHA, max_walks)
    for anchors in [*((item,) for item in range(shop.n_items)), (0, 0), *((item, 5) for item in range(shop.n_items))]:
        allowed = draw.random(shop.n_items) < 0.4 if masked else None
        rule = eligible(shop.n_items, allowed, draw.integers(0, shop.n_items, 3))
        found = rings.of(anchors, wanted, depth, rule_of(rule))
        assert (found.sizes == np.diff(found.ends, axis=1, prepend=0)).all()
        for row, anchor in enumerate(anchors):
            whole = [[pair for pair in ring if rule.dense()[pair[0]]][:depth] for ring in rings_of(store, anchor)]
            assert rings_of(found, row) == [*whole[:wanted], *([] for _ in range(N_RINGS - wanted))]
