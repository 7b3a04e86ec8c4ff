"""Text neighbours of every item, computed offline: exact up to a stated catalogue size, then by an inverted file."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import faiss
import numpy as np
import numpy.typing as npt

from models.kernels import compiled, compiled_greatest, read_only
from models.similarity import Floats, Items, Mask, dot, is_blank, nearest, nearest_of
from models.topk import best, pack, unpack

BLOCK_BYTES = 64 * 2**20
ASSIGNED = 65_536
"""Items whose cells are looked up at once."""
GROUPS = 16
"""Of a row of cosines, for each neighbour kept: most groups hold none."""
NO_MASK = np.empty(0, np.bool_)
NONE_BLOCKED = np.empty(0, np.int32)

Progress = Callable[[int], None]
"""Told the number of items done since the last call."""


@dataclass(frozen=True, slots=True)
class NeighbourConfig:
    """How text neighbours are found.

    Attributes:
        m: neighbours kept an item.
        exact_items: largest catalogue that is compared pair by pair.
        probes: share of the inverted file's cells that the items of one cell of a larger catalogue are compared with.
        sample: items whose recall is measured against the exact answer in a larger catalogue.
    """

    m: int = 100
    exact_items: int = 150_000
    probes: float = 0.015
    sample: int = 200


@compiled_greatest
def _greatest(rough: Floats, size: int, tops: Floats) -> None:
    """The greatest of each so many numbers."""
    for group in range(len(tops)):
        top = np.float32(-np.inf)
        for place in range(group * size, min((group + 1) * size, len(rough))):
            top = max(top, rough[place])
        tops[group] = top


@compiled
def _contenders(rough: Floats, m: int, slack: float, found: Items) -> int:
    """Write the places of the m + 1 best (the item itself may be one), of all within `slack` of them, and of others.

    The best of each group are sorted in place of all: the m + 1 best of them are no better than those of all.
    """
    size = max(1, len(rough) // (GROUPS * m))
    tops = np.empty(-(-len(rough) // size), np.float32)
    _greatest(rough, size, tops)
    lowest = -np.partition(-tops, m)[m] - slack if m < len(tops) else -np.inf
    total = 0
    for group in range(len(tops)):
        if tops[group] >= lowest:
            for place in range(group * size, min((group + 1) * size, len(rough))):
                found[total] = place
                total += rough[place] >= lowest
    return total


@compiled
def _settle_rows(
    embeddings: Floats, anchors: Items, pool: Items, rough: Floats, slack: float, m: int, rows: Items
) -> None:
    """The best of rough cosines to a pool, scored exactly: all within `slack` of the last place compete."""
    places, scores = np.empty(len(pool) + 1, np.int32), np.empty(m, np.float32)
    for place in range(len(rough)):
        anchor = anchors[place]
        if is_blank(embeddings[anchor]):
            continue
        total = _contenders(rough[place], m, slack, places)
        chosen = nearest_of(embeddings, anchor, pool[places[:total]], m)
        unpack(chosen, scores[: len(chosen)], rows[place, : len(chosen)])


@compiled
def _blanks(embeddings: Floats) -> Items:
    found, n = np.empty(len(embeddings), np.int32), 0
    for item in range(len(embeddings)):
        found[n] = item
        n += is_blank(embeddings[item])
    return found[:n]


def block_rows(n_items: int) -> int:
    """Items that are compared with all others at once, so that memory is one block."""
    return max(1, BLOCK_BYTES // (4 * n_items))


def exact_block(embeddings: Floats, first: int, rows: int, m: int) -> Items:
    """int32 [rows, m]: neighbours of the items from `first` on: a matrix product proposes, exact cosines decide.

    Args:
        embeddings: float32 [n, d], L2-normalised, a zero row = no text.
        first: the first item.
        rows: number of items.
        m: neighbours kept, less than n.
    """
    anchors = np.arange(first, min(first + rows, len(embeddings)), dtype=np.int32)
    return _exact_rows(read_only(embeddings), anchors, m)


def merged_neighbours(embeddings: Floats, rows: Items, changed: Items, stale: Mask) -> None:
    """Bring exact neighbours up to date in place after some embeddings changed; equal to computing all of them anew.

    Args:
        embeddings: float32 [n, d], read-only.
        rows: int32 [n, m], lists of before; what they hold of items that did not change still is in order.
        changed: int32, rising: items with another embedding than before, new ones included.
        stale: bool [n]: lists that must be computed anew, those of changed items and those that held one among them.
    """
    step = block_rows(len(embeddings))
    anew = np.flatnonzero(stale)
    for first in range(0, len(anew), step):
        some = anew[first : first + step]
        rows[some] = _exact_rows(embeddings, some.astype(np.int32), rows.shape[1])
    newcomers = read_only(changed[embeddings[changed].any(axis=1)])
    slack = _slack(embeddings)
    for first in range(0, len(embeddings) if len(newcomers) else 0, step):
        rough = embeddings[first : first + step] @ embeddings[newcomers].T
        _merge_block(embeddings, first, rough, slack, newcomers, stale, rows)


@compiled
def _merge_block(
    embeddings: Floats, first: int, rough: Floats, slack: float, newcomers: Items, stale: Mask, rows: Items
) -> None:
    m = rows.shape[1]
    items, scores = np.empty(m + len(newcomers), np.int32), np.empty(m + len(newcomers), np.float32)
    for place in range(len(rough)):
        anchor = first + place
        if stale[anchor] or is_blank(embeddings[anchor]):
            continue
        row, found = rows[anchor], 0
        while found < m and row[found] >= 0:
            found += 1
        lowest = dot(embeddings[anchor], embeddings[row[m - 1]]) - slack if found == m else -np.inf
        old = found
        for column in range(len(newcomers)):
            if rough[place, column] >= lowest and newcomers[column] != anchor:
                items[found] = newcomers[column]
                found += 1
        if found == old:
            continue
        items[:old] = row[:old]
        for candidate in range(found):
            scores[candidate] = dot(embeddings[anchor], embeddings[items[candidate]])
        keys = np.empty(found, np.int64)
        pack(scores[:found], items[:found], keys)
        chosen = best(keys, m)
        unpack(chosen, scores[: len(chosen)], row[: len(chosen)])


def _exact_rows(embeddings: Floats, anchors: Items, m: int) -> Items:
    rough = embeddings[anchors] @ embeddings.T
    rough[:, _blanks(embeddings)] = -np.inf
    found = np.full((len(rough), m), -1, np.int32)
    pool = np.arange(len(embeddings), dtype=np.int32)
    _settle_rows(embeddings, read_only(anchors), pool, rough, _slack(embeddings), m, found)
    return found


def _slack(embeddings: Floats) -> float:
    """How far two sums of the same products may differ."""
    return float(4 * embeddings.shape[1] * np.finfo(np.float32).eps)


def exact_blocks(embeddings: Floats, m: int) -> Iterator[Items]:
    """Neighbours of all items, a block at a time."""
    step = block_rows(len(embeddings))
    for first in range(0, len(embeddings), step):
        yield exact_block(embeddings, first, step, m)


class Cells(NamedTuple):
    """Items with text by the cell of the inverted file that they lie in.

    Attributes:
        items: int32 [texts], cell after cell.
        starts: int64 [cells + 1].
        near: int64 [cells, probes], the nearest cells of each; -1 = none.
    """

    items: Items
    starts: npt.NDArray[np.int64]
    near: npt.NDArray[np.int64]

    def within(self, cells: npt.NDArray[np.int64]) -> Items:
        """The items of some cells."""
        return np.concatenate([self.items[self.starts[cell] : self.starts[cell + 1]] for cell in cells.tolist()])


def _cells(embeddings: Floats, config: NeighbourConfig) -> Cells:
    (n_items, width), texts = embeddings.shape, np.flatnonzero(embeddings.any(axis=1)).astype(np.int32)
    cells = max(1, min(int(4 * np.sqrt(n_items)), n_items // 40))
    centres = faiss.IndexFlatIP(width)
    faiss.IndexIVFFlat(centres, width, cells, faiss.METRIC_INNER_PRODUCT).train(
        embeddings[:: max(1, n_items // (64 * cells))]
    )
    parts = [texts[first : first + ASSIGNED] for first in range(0, len(texts), ASSIGNED)]
    of_each = np.concatenate([np.empty(0, np.int64), *(centres.search(embeddings[part], 1)[1][:, 0] for part in parts)])
    starts = np.concatenate(([0], np.cumsum(np.bincount(of_each, minlength=cells))))
    _, near = centres.search(centres.reconstruct_n(0, cells), max(1, round(config.probes * cells)))
    return Cells(texts[np.argsort(of_each, kind="stable")], starts, near)


def _inverted_file(embeddings: Floats, rows: Items, config: NeighbourConfig, progress: Progress) -> None:
    """All items of a cell are compared with those of the nearest cells in one product, of which each part is read once
    for all of them."""
    cells = _cells(embeddings, config)
    progress(len(rows) - len(cells.items))
    for cell, near in enumerate(cells.near):
        anchors = cells.items[cells.starts[cell] : cells.starts[cell + 1]]
        if not len(anchors):
            continue
        pool = cells.within(np.union1d(near[near >= 0], cell))
        against = embeddings[pool].T
        for first in range(0, len(anchors), block_rows(len(pool))):
            some = anchors[first : first + block_rows(len(pool))]
            found = np.full((len(some), rows.shape[1]), -1, np.int32)
            rough = embeddings[some] @ against
            _settle_rows(embeddings, read_only(some), pool, rough, _slack(embeddings), rows.shape[1], found)
            rows[some] = found
        progress(len(anchors))


def _recall(embeddings: Floats, rows: Items, sample: int) -> float:
    """Share of the exact neighbours that were found, over evenly spread items."""
    anchors = np.unique(np.linspace(0, len(rows) - 1, sample).astype(np.int64))
    shares = []
    for anchor in anchors.tolist():
        truth, _ = nearest(embeddings, anchor, NO_MASK, NONE_BLOCKED, rows.shape[1])
        if len(truth):
            shares.append(len(np.intersect1d(truth, rows[anchor])) / len(truth))
    return float(np.mean(shares)) if shares else 1.0


def width(n_items: int, config: NeighbourConfig) -> int:
    """Neighbours kept an item: at most all others, at least one column."""
    return max(1, min(config.m, n_items - 1))


def _fill(rows: Items, blocks: Iterable[Items], progress: Progress) -> None:
    first = 0
    for block in blocks:
        rows[first : first + len(block)] = block
        first += len(block)
        progress(len(block))


def text_neighbours(
    embeddings: Floats,
    config: NeighbourConfig,
    progress: Progress = lambda _: None,
    blocks: Iterable[Items] | None = None,
) -> tuple[Items, dict[str, Any]]:
    """Nearest items by cosine of every item with text, itself left out.

    Args:
        embeddings: float32 [n, d], L2-normalised, a zero row = no text.
        config: how.
        progress: told the number of items done.
        blocks: what `exact_blocks` gives, computed elsewhere; None = compute it here.

    Returns:
        int32 [n, m] best first, ties by item index, padded with -1, where m is at most n - 1 (and at least 1);
        and the facts for the manifest: the method and its recall.
    """
    embeddings = read_only(np.ascontiguousarray(embeddings))
    rows = np.full((len(embeddings), width(len(embeddings), config)), -1, np.int32)
    facts = {**asdict(config), "m": rows.shape[1]}
    if len(embeddings) <= config.exact_items:
        if len(embeddings) > 1:
            _fill(rows, exact_blocks(embeddings, rows.shape[1]) if blocks is None else blocks, progress)
        return rows, {**facts, "method": "exact", "recall": 1.0}
    _inverted_file(embeddings, rows, config, progress)
    return rows, {**facts, "method": "inverted file", "recall": _recall(embeddings, rows, config.sample)}
