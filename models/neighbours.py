"""Text neighbours of every item, computed offline: exact up to a stated catalogue size, then by an inverted file."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import faiss
import numpy as np

from models.kernels import compiled, read_only
from models.similarity import Floats, Items, dot, is_blank, nearest
from models.topk import best, pack, unpack

BLOCK_BYTES = 64 * 2**20
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
        probes: share of the inverted file's cells that is searched for each item of a larger catalogue.
        sample: items whose recall is measured against the exact answer in a larger catalogue.
    """

    m: int = 100
    exact_items: int = 150_000
    probes: float = 0.01
    sample: int = 200


@compiled
def _settle(embeddings: Floats, anchor: int, rough: Floats, slack: float, row: Items) -> None:
    """The best of one row of rough cosines, scored exactly: all within `slack` of the last place compete."""
    rough[anchor] = -np.inf
    threshold = -np.partition(-rough, len(row) - 1)[len(row) - 1] - slack
    items = np.flatnonzero(rough >= threshold).astype(np.int32)
    scores, found = np.empty(len(items), np.float32), 0
    for item in items:
        if item != anchor and not is_blank(embeddings[item]):
            items[found], scores[found] = item, dot(embeddings[anchor], embeddings[item])
            found += 1
    keys = np.empty(found, np.int64)
    pack(scores[:found], items[:found], keys)
    chosen = best(keys, len(row))
    unpack(chosen, scores[: len(chosen)], row[: len(chosen)])


@compiled
def _settle_block(embeddings: Floats, first: int, rough: Floats, slack: float, rows: Items) -> None:
    for place in range(len(rough)):
        if not is_blank(embeddings[first + place]):
            _settle(embeddings, first + place, rough[place], slack, rows[place])


def _exact(embeddings: Floats, rows: Items, progress: Progress) -> None:
    """Blocks of a matrix product propose, exact cosines decide; memory is one block."""
    n_items, width = embeddings.shape
    blank = ~embeddings.any(axis=1)
    slack = 4 * width * float(np.finfo(np.float32).eps)
    step = max(1, BLOCK_BYTES // (4 * n_items))
    for first in range(0, n_items, step):
        rough = embeddings[first : first + step] @ embeddings.T
        rough[:, blank] = -np.inf
        _settle_block(embeddings, first, rough, slack, rows[first : first + len(rough)])
        progress(len(rough))


def _inverted_file(embeddings: Floats, rows: Items, config: NeighbourConfig, progress: Progress) -> None:
    n_items, width = embeddings.shape
    cells = max(1, min(int(4 * np.sqrt(n_items)), n_items // 40))
    index = faiss.IndexIVFFlat(faiss.IndexFlatIP(width), width, cells, faiss.METRIC_INNER_PRODUCT)
    index.nprobe = max(1, round(config.probes * cells))
    index.train(embeddings[:: max(1, n_items // (64 * cells))])
    index.add(embeddings)
    for first in range(0, n_items, 8192):
        block = embeddings[first : first + 8192]
        _, found = index.search(block, rows.shape[1] + 1)
        for place in np.flatnonzero(block.any(axis=1)):
            rows[first + place] = _tidy(embeddings, first + int(place), found[place].astype(np.int32), rows.shape[1])
        progress(len(block))


@compiled
def _tidy(embeddings: Floats, anchor: int, found: Items, m: int) -> Items:
    scores, kept = np.empty(len(found), np.float32), 0
    for item in found:
        if item >= 0 and item != anchor and not is_blank(embeddings[item]):
            found[kept], scores[kept] = item, dot(embeddings[anchor], embeddings[item])
            kept += 1
    keys = np.empty(kept, np.int64)
    pack(scores[:kept], found[:kept], keys)
    chosen = best(keys, m)
    row = np.full(m, -1, np.int32)
    unpack(chosen, scores[: len(chosen)], row[: len(chosen)])
    return row


def _recall(embeddings: Floats, rows: Items, sample: int) -> float:
    """Share of the exact neighbours that were found, over evenly spread items."""
    anchors = np.unique(np.linspace(0, len(rows) - 1, sample).astype(np.int64))
    shares = []
    for anchor in anchors.tolist():
        truth, _ = nearest(embeddings, anchor, NO_MASK, NONE_BLOCKED, rows.shape[1])
        if len(truth):
            shares.append(len(np.intersect1d(truth, rows[anchor])) / len(truth))
    return float(np.mean(shares)) if shares else 1.0


def text_neighbours(
    embeddings: Floats, config: NeighbourConfig, progress: Progress = lambda _: None
) -> tuple[Items, dict[str, Any]]:
    """Nearest items by cosine of every item with text, itself left out.

    Args:
        embeddings: float32 [n, d], L2-normalised, a zero row = no text.
        config: how.
        progress: told the number of items done.

    Returns:
        int32 [n, m] best first, ties by item index, padded with -1, where m is at most n - 1 (and at least 1);
        and the facts for the manifest: the method and its recall.
    """
    embeddings = read_only(np.ascontiguousarray(embeddings))
    rows = np.full((len(embeddings), max(1, min(config.m, len(embeddings) - 1))), -1, np.int32)
    facts = {**asdict(config), "m": rows.shape[1]}
    if len(embeddings) <= config.exact_items:
        if len(embeddings) > 1:
            _exact(embeddings, rows, progress)
        return rows, {**facts, "method": "exact", "recall": 1.0}
    _inverted_file(embeddings, rows, config, progress)
    return rows, {**facts, "method": "inverted file", "recall": _recall(embeddings, rows, config.sample)}
