"""Pairs of anchor and ring member, scored tile by tile, are scored as one by one."""

import numpy as np
import pytest

from models import ring_lists
from models.kernels import read_only
from models.neighbours import text_neighbours
from models.ring_lists import RingBlock, anchor_rings, ring_block
from models.ring_pairs import Pairs, pairs_room
from models.rings import N_RINGS, RingConfig, RingInputs, reverse, ring_inputs
from tests.shop import odd_shop

ROOMS = [(1, 1, 1), (3, 60, 100), (40, 10**6, 10**6)]
"""Anchors and pairs at a time, and bytes of a tile: one of each, some, everything together."""


def lists_of(block: RingBlock, row: int) -> list[tuple[list[int], list[float]]]:
    begin = int(block.ends[:row, -1].sum())
    ends = [begin, *(begin + block.ends[row]).tolist()]
    spans = [slice(ends[ring], ends[ring + 1]) for ring in range(N_RINGS)]
    return [(block.items[span].tolist(), block.scores[span].tolist()) for span in spans]


def block_of(inputs: RingInputs, neighbours: np.ndarray, config: RingConfig) -> RingBlock:
    anchors = np.arange(39, -1, -1, dtype=np.int32)
    return ring_block(inputs, reverse(odd_shop(1).graph()), read_only(neighbours), config, anchors)


@pytest.mark.parametrize("limit", [5, 10**6])
@pytest.mark.parametrize("room", ROOMS)
def test_lists_do_not_depend_on_how_many_pairs_and_items_are_worked_on_together(
    room: tuple[int, int, int], limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop, made = odd_shop(1), []

    def small(_thread: int, shape: tuple[int, ...]) -> Pairs:
        made.append(pairs_room(shape, *room))
        return made[-1]

    inputs = ring_inputs(shop.graph(), shop.embeddings)
    neighbours, _ = text_neighbours(shop.embeddings, shop.neighbours)
    config = RingConfig(depth=(50, 50, 50), max_walks=limit)
    usual = block_of(inputs, neighbours, config)
    monkeypatch.setattr(ring_lists, "kept_room", small)
    block = block_of(inputs, neighbours, config)

    assert len(made) == 1
    assert [lists_of(block, row) for row in range(40)] == [lists_of(usual, row) for row in range(40)]
    assert (block.found < N_RINGS).any() == (limit == 5)
    for row in np.flatnonzero(block.found == N_RINGS).tolist():
        whole = anchor_rings(inputs, 39 - row, config.alpha)
        assert [items for items, _ in lists_of(block, row)] == [
            part.tolist() for part in np.split(whole.items, whole.ends[:2])
        ]
        assert np.concatenate([scores for _, scores in lists_of(block, row)]).tolist() == whole.scores.tolist()
