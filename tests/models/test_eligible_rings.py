"""Rings computed for a request are the whole rings without what may not be returned."""

import numpy as np
import pytest

from models.chosen import rule_of
from models.eligible_rings import EligibleRings
from models.filters import eligible
from models.graph import build_graph
from models.ring_lists import NO_LIMIT, anchor_rings
from models.rings import N_RINGS, RingInputs, ring_inputs
from tests.shop import Shop, odd_shop

ALPHA = 0.5


def inputs_of(shop: Shop) -> RingInputs:
    sources, targets, counts = np.array(shop.edges).T
    return ring_inputs(build_graph(sources, targets, counts, shop.n_items), shop.embeddings)


@pytest.mark.parametrize("wanted", [1, 2, 3])
def test_rings_are_the_whole_ones_without_what_may_not_be_returned(wanted: int) -> None:
    shop = odd_shop(1)
    inputs, draw = inputs_of(shop), np.random.default_rng(0)
    rings = EligibleRings(inputs, ALPHA, NO_LIMIT)
    for anchor in [*range(shop.n_items), 0, 0]:
        allowed = draw.random(shop.n_items) < 0.4
        rule = rule_of(eligible(shop.n_items, allowed, draw.integers(0, shop.n_items, 3)))
        whole, found = anchor_rings(inputs, anchor, ALPHA), rings.of(anchor, wanted, rule)
        begins, starts = [0, *whole.ends[:-1]], [0, *found.ends[:-1]]
        for ring in range(N_RINGS):
            members = slice(begins[ring], whole.ends[ring])
            kept = allowed[whole.items[members]] & ~np.isin(whole.items[members], rule.blocked) & (ring < wanted)
            mine = slice(starts[ring], found.ends[ring])
            assert found.items[mine].tolist() == whole.items[members][kept].tolist()
            assert found.scores[mine].tolist() == whole.scores[members][kept].tolist()


def test_a_ring_that_takes_too_many_steps_is_said_to_be_missing() -> None:
    shop = odd_shop(1)
    rule = rule_of(eligible(shop.n_items, None, np.empty(0, np.int32)))
    found = EligibleRings(inputs_of(shop), ALPHA, 0).of(0, 3, rule)
    assert found.found == 1
    assert found.ends[0] == found.ends[1] == found.ends[2] == len(found.items)
