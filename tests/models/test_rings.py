"""Rings and ring lists: exact where the edges to follow are few, probed beyond, bounded and honest about it."""

from pathlib import Path

import numpy as np
import pytest

from models.bundle import layout
from models.bundle.reader import Bundle
from models.filters import eligible
from models.registry import open_retriever
from models.retrieval import Query
from models.rings import RingConfig
from models.words import RetrieverName
from tests import shop as shops
from tests.models import tgh_by_hand
from tests.shop import Shop

SEEDS = (1, 2, 3)


def stored_rings(bundle: Bundle, anchor: int) -> list[list[int]]:
    begin, ends = int(bundle.array(layout.RING_OFFSETS)[anchor]), bundle.array(layout.RING_ENDS)[anchor].tolist()
    items = bundle.array(layout.RING_ITEMS)
    spans = zip([0, *ends[:2]], ends, strict=True)
    return [items[begin + start : begin + end].tolist() for start, end in spans]


def ranked_ring(shop: Shop, anchor: int, ring: int, members: set[int]) -> list[int]:
    scored = [(item, tgh_by_hand.score(shop, anchor, item, ring)) for item in members]
    return [item for item, _ in tgh_by_hand.ranked(scored)]


@pytest.mark.parametrize("seed", SEEDS)
def test_stored_rings_are_the_heads_of_the_true_rings_with_their_sizes(seed: int, tmp_path: Path) -> None:
    shop = shops.odd_shop(seed)
    bundle = shops.build(tmp_path, shop)
    for anchor in range(shop.n_items):
        rings = tgh_by_hand.rings_of(shop, anchor)
        assert bundle.array(layout.RING_SIZES)[anchor].tolist() == [len(ring) for ring in rings]
        heads = [ranked_ring(shop, anchor, number, ring) for number, ring in enumerate(rings, start=1)]
        depths = shop.rings.depth
        assert stored_rings(bundle, anchor) == [head[:depth] for head, depth in zip(heads, depths, strict=True)]


@pytest.mark.parametrize("limit", [0, 3, 12])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_ring_beyond_the_limit_holds_the_text_neighbours_that_lie_in_it(
    seed: int, limit: int, tmp_path: Path
) -> None:
    shop = shops.odd_shop(seed, rings=RingConfig(depth=(50, 50, 50), max_walks=limit))
    bundle = shops.build(tmp_path, shop)
    degree = {item: len(shop.graph().targets[slice(*shop.graph().offsets[item : item + 2])]) for item in range(40)}
    probed = 0
    for anchor in range(shop.n_items):
        neighbours = set(bundle.array(layout.TEXT_NEIGHBOURS)[anchor].tolist())
        rings = tgh_by_hand.rings_of(shop, anchor)
        walks = np.cumsum([sum(degree[item] for item in ring) for ring in rings[:2]])
        for number in (2, 3):
            if (walks[: number - 1] > limit).any():
                rings[number - 1] &= neighbours
                probed += 1
        expected = [ranked_ring(shop, anchor, number, ring) for number, ring in enumerate(rings, start=1)]
        assert stored_rings(bundle, anchor) == expected
    assert probed == sum(bundle.manifest.sections["rings"]["probed_anchors"].values()) > 0


def test_lists_from_probed_rings_do_not_depend_on_the_stored_depth(tmp_path: Path) -> None:
    shallow, deep = (
        open_retriever(
            shops.build(tmp_path / name, shops.odd_shop(2, rings=RingConfig(depth=depth, max_walks=6))),
            RetrieverName.TGH_1,
        )
        for name, depth in (("shallow", (1, 1, 1)), ("deep", (50, 50, 50)))
    )
    for anchor in range(40):
        for blocked in (np.empty(0, np.int32), np.arange(0, 40, 3, dtype=np.int32)):
            query = Query(np.array([anchor], np.int32), 12, eligible(40, None, blocked))
            assert shallow.retrieve(query).items.tolist() == deep.retrieve(query).items.tolist()


def test_the_manifest_states_the_recall_of_probed_rings(tmp_path: Path) -> None:
    rings = RingConfig(depth=(50, 50, 50), max_walks=0)
    bundle = shops.build(tmp_path, shops.odd_shop(1, rings=rings))
    section = bundle.manifest.sections["rings"]
    assert (section["alpha"], section["depth"], section["max_walks"]) == (0.5, [50, 50, 50], 0)
    assert 0 < section["probe_recall"]["ring2"]["recall_at_10"] < 1
    exact = shops.build(tmp_path / "exact", shops.odd_shop(1))
    assert exact.manifest.sections["rings"]["probe_recall"] == {}
