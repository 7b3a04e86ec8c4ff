"""Scores of the members of many anchors' rings, worked out one part of the catalogue after another.

Members lie all over the catalogue. One anchor after another, each of them is a row of embeddings that the cache has
lost since; the larger the catalogue, the surer. So the pairs of anchor and member of many anchors are put in the order
of the members' tiles: rows of the catalogue that fit the cache together. A tile is then read once for all of them.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from models.kernels import compiled
from models.prefetch import ROW_BYTES, ROWS_AHEAD, prefetch
from models.rings import N_RINGS
from models.similarity import Floats, Items, dot

Places = npt.NDArray[np.int64]
ANCHORS, PAIRS = 4096, 4_000_000
"""Worked on together; a pair takes 16 bytes."""
FLOAT_BYTES, TILE_BYTES = 4, 2**20


class Pairs(NamedTuple):
    """Room for the rings of several anchors and their scores, used again and again.

    Attributes:
        members: int32 [room], per anchor itself and its rings, as `trace` finds them.
        starts: int64 [anchors], where each anchor's members start.
        ends: int32 [anchors, 4], where the anchor (1) and each of its rings end, from its start on.
        shift: log2 of the items of a tile.
        tiles: int64 [tiles + 2], how far each tile's pairs have been filled or read.
        items: int32 [room], members of all anchors by tile.
        owners: int32 [room], to whose rings they belong.
        scores: float32 [room], of each.
    """

    members: Items
    starts: Places
    ends: Items
    shift: int
    tiles: Places
    items: Items
    owners: Items
    scores: Floats


def pairs_room(shape: tuple[int, ...], anchors: int, pairs: int, tile_bytes: int) -> Pairs:
    """Room for so many pairs, and for one more anchor that reaches everything.

    Args:
        shape: [n, d] of the embeddings.
        anchors: most anchors at a time.
        pairs: when so many have been found, they are scored.
        tile_bytes: of embeddings that the cache holds well.
    """
    n_items, width = shape
    room = min(pairs, anchors * (n_items + 1)) + n_items + 1
    shift = max(0, (tile_bytes // max(1, FLOAT_BYTES * width)).bit_length() - 1)
    return Pairs(
        np.empty(room, np.int32),
        np.empty(anchors, np.int64),
        np.empty((anchors, N_RINGS + 1), np.int32),
        shift,
        np.empty((n_items >> shift) + 3, np.int64),
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty(room, np.float32),
    )


@lru_cache(maxsize=1)
def kept_room(thread: int, shape: tuple[int, ...]) -> Pairs:
    """The room that a thread had for its last block: the system would clear that memory anew for each."""
    del thread
    return pairs_room(shape, ANCHORS, PAIRS, TILE_BYTES)


@compiled
def _sort(pairs: Pairs, anchors: int, after: int) -> int:
    """Fill `items` and `owners`; `tiles` then says where each tile starts. The number of pairs."""
    members, tiles = pairs.members, pairs.tiles
    tiles[:] = 0
    for owner in range(anchors):
        start, ends = pairs.starts[owner], pairs.ends[owner]
        for place in range(start + ends[after], start + ends[-1]):
            tiles[(members[place] >> pairs.shift) + 2] += 1
    for tile in range(2, len(tiles)):
        tiles[tile] += tiles[tile - 1]
    for owner in range(anchors):
        start, ends = pairs.starts[owner], pairs.ends[owner]
        for place in range(start + ends[after], start + ends[-1]):
            tile = (members[place] >> pairs.shift) + 1
            pairs.items[tiles[tile]], pairs.owners[tiles[tile]] = members[place], owner
            tiles[tile] += 1
    return int(tiles[-1])


@compiled
def score_pairs(embeddings: Floats, anchors: Items, after: int, pairs: Pairs) -> None:
    """Score the members of some rings of all anchors; `next_scores` then hands them out.

    Args:
        embeddings: float32 [n, d].
        anchors: int32, whose rings `members`, `starts` and `ends` hold.
        after: the last ring that is left out.
        pairs: what follows `ends` is filled.
    """
    total = _sort(pairs, len(anchors), after)
    members = pairs.items[:total]
    for place in range(total):
        if place + ROWS_AHEAD < len(members):
            prefetch(embeddings, members[place + ROWS_AHEAD], ROW_BYTES)
        anchor = anchors[pairs.owners[place]]
        pairs.scores[place] = dot(embeddings[anchor], embeddings[members[place]])


@compiled
def next_scores(pairs: Pairs, members: Items) -> Floats:
    """Scores of an anchor's next ring, float32 [members]; anchors and rings are asked for in order, each once."""
    scores = np.empty(len(members), np.float32)
    for place in range(len(members)):
        tile = members[place] >> pairs.shift
        scores[place] = pairs.scores[pairs.tiles[tile]]
        pairs.tiles[tile] += 1
    return scores
