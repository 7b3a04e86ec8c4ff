"""Ring lists after an update: those of touched anchors computed anew, the others taken over.

An anchor's lists follow from the edges that leave it and its rings 1 and 2, the weights of its own edges, and the
texts of what its rings hold; where a ring is probed, from its text neighbours, too. So these anchors are computed anew:
those that reach a row with other targets within two steps, those that reach a changed text within three, and, where
rings are probed, those with other neighbours. Where only the weights of an anchor's own edges changed, ring 1 is.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from models.graph import Graph
from models.kernels import read_only
from models.ring_lists import RingBlock, rescore_first, ring_block
from models.rings import N_RINGS, Reverse, RingConfig, RingInputs
from models.similarity import Items
from offline.increment.counts import GONE, Renumbering

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class StoredRings:
    """Ring arrays of a bundle, memory-mapped, and what its state adds.

    Attributes:
        offsets: int64 [n + 1].
        ends: int32 [n, 3].
        sizes: int32 [n, 3].
        items: int32.
        scores: float32.
        found: int32 [n].
    """

    offsets: npt.NDArray[np.int64]
    ends: Items
    sizes: Items
    items: Items
    scores: npt.NDArray[np.float32]
    found: Items


def changed_rows(old: Graph, new: Graph, moves: Renumbering) -> tuple[Mask, Mask]:
    """Rows of the new graph with other targets, and rows with other targets or counts, bool [n] each."""
    n_new = new.n_items
    old_sources = moves.place[np.repeat(np.arange(old.n_items), np.diff(old.offsets))]
    old_targets = moves.place[old.targets]
    lost = (old_sources != GONE) & (old_targets == GONE)
    other, any_change = np.zeros(n_new, np.bool_), np.zeros(n_new, np.bool_)
    other[old_sources[lost]] = True
    there = (old_sources != GONE) & (old_targets != GONE)
    old_keys = old_sources[there] * n_new + old_targets[there]
    old_counts = old.counts[there]
    new_keys = np.repeat(np.arange(n_new, dtype=np.int64), np.diff(new.offsets)) * n_new + new.targets
    at = np.searchsorted(old_keys, new_keys)
    inside = at < len(old_keys)
    known = np.zeros(len(new_keys), np.bool_)
    known[inside] = old_keys[at[inside]] == new_keys[inside]
    other[new_keys[~known] // n_new] = True
    gone = np.ones(len(old_keys), np.bool_)
    gone[at[known]] = False
    other[old_keys[gone] // n_new] = True
    any_change[new_keys[known][old_counts[at[known]] != new.counts[known]] // n_new] = True
    return other, other | any_change


def reaching(backwards: Reverse, goals: Mask, steps: int) -> Mask:
    """Items from which a goal is at most so many steps away, the goals included."""
    reached, frontier = goals.copy(), goals
    for _ in range(steps):
        rows = np.flatnonzero(frontier)
        starts = backwards.offsets[rows]
        before = np.zeros(len(goals), np.bool_)
        before[backwards.sources[_ranges(starts, backwards.offsets[rows + 1] - starts)]] = True
        frontier = before & ~reached
        reached |= before
    return reached


def touched_anchors(
    rows: tuple[Mask, Mask], backwards: Reverse, texts: Mask, neighbours: Mask, moves: Renumbering, *, probing: bool
) -> tuple[Mask, Mask]:
    """Anchors whose lists must be computed anew, and whose ring 1 alone must, bool [n] each.

    Args:
        rows: from `changed_rows`.
        backwards: the new graph reversed.
        texts: items whose embedding changed.
        neighbours: items whose text neighbours changed.
        moves: new items are always touched.
        probing: whether some ring is, or was, probed.
    """
    other, weights = rows
    anew = reaching(backwards, other, N_RINGS - 1) | reaching(backwards, texts, N_RINGS)
    anew |= (moves.origin == GONE) | (neighbours & probing)
    return anew, weights & ~anew


def updated_blocks(
    stored: StoredRings,
    moves: Renumbering,
    touched: tuple[Mask, Mask],
    inputs: RingInputs,
    backwards: Reverse,
    neighbours: Items,
    config: RingConfig,
) -> Iterator[RingBlock]:
    """Ring lists of all anchors in order, a block at a time."""
    neighbours, (anew, first_ring) = read_only(neighbours), touched
    for first in range(0, len(anew), config.block):
        anchors = np.arange(first, min(first + config.block, len(anew)), dtype=np.int32)
        fresh = anew[anchors]
        if fresh.all():
            yield ring_block(inputs, backwards, neighbours, config, anchors)
            continue
        kept = _taken_over(stored, moves, anchors[~fresh])
        _rescore(kept, anchors[~fresh], first_ring, inputs, config)
        if not fresh.any():
            yield kept
            continue
        yield _woven(ring_block(inputs, backwards, neighbours, config, anchors[fresh]), kept, fresh)


def _taken_over(stored: StoredRings, moves: Renumbering, anchors: Items) -> RingBlock:
    origin = moves.origin[anchors]
    lengths = stored.ends[origin, N_RINGS - 1].astype(np.int64)
    places = _ranges(stored.offsets[origin], lengths)
    items = stored.items[places]
    items = items if moves.same else moves.place[items].astype(np.int32)
    return RingBlock(items, stored.scores[places], stored.ends[origin], stored.sizes[origin], stored.found[origin])


def _rescore(kept: RingBlock, anchors: Items, first_ring: Mask, inputs: RingInputs, config: RingConfig) -> None:
    rows = np.flatnonzero(first_ring[anchors])
    lengths = kept.ends[:, N_RINGS - 1].astype(np.int64)
    starts = (np.cumsum(lengths) - lengths)[rows]
    depth = config.depth[0]
    rescore_first(inputs, anchors[rows], starts, float(config.alpha), depth, kept.items, kept.scores)


def _ranges(starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """starts[0], starts[0] + 1 ... for each length, one after another."""
    ends = np.cumsum(lengths)
    steps = np.repeat(starts - (ends - lengths), lengths)
    places: npt.NDArray[np.int64] = steps + np.arange(len(steps))
    return places


def _woven(fresh: RingBlock, kept: RingBlock, is_fresh: Mask) -> RingBlock:
    """Both in the order of their anchors."""
    rows = np.empty(len(is_fresh), np.int64)
    rows[is_fresh], rows[~is_fresh] = np.arange(len(fresh.ends)), len(fresh.ends) + np.arange(len(kept.ends))
    ends = np.concatenate([fresh.ends, kept.ends])
    lengths = ends[:, N_RINGS - 1].astype(np.int64)
    starts = np.cumsum(lengths) - lengths
    places = _ranges(starts[rows], lengths[rows])
    pairs = [(getattr(fresh, name), getattr(kept, name)) for name in ("items", "scores", "sizes", "found")]
    items, scores, sizes, found = (np.concatenate(pair) for pair in pairs)
    return RingBlock(items[places], scores[places], ends[rows], sizes[rows], found[rows])
