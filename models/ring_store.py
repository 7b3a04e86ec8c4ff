"""Ring lists into a bundle: streamed to the disk a block at a time, and what the manifest says of them."""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from models.bundle import layout
from models.bundle.writer import BundleWriter
from models.graph import Graph
from models.kernels import read_only
from models.ring_lists import RingBlock, anchor_rings, ring_blocks
from models.ring_pairs import kept_room
from models.rings import N_RINGS, RingConfig, RingInputs, reverse, ring_inputs
from models.similarity import Floats, Items

SECTION = "rings"
CUTS = (10, 50)
"""Positions at which the recall of probed rings is measured."""


@dataclass(frozen=True, slots=True)
class _Stored:
    ends: Items
    sizes: Items
    found: Items


def _offsets(ends: Items) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    offsets = np.zeros(len(ends) + 1, np.int64)
    np.cumsum(ends[:, N_RINGS - 1], out=offsets[1:])
    return offsets


def _stream(writer: BundleWriter, blocks: Iterable[RingBlock], progress: Any) -> _Stored:
    kept = []
    with (
        writer.stream_array(layout.RING_ITEMS, np.int32) as items,
        writer.stream_array(layout.RING_SCORES, np.float32) as scores,
    ):
        for block in blocks:
            items.append(block.items)
            scores.append(block.scores)
            kept.append(_Stored(block.ends, block.sizes, block.found))
            progress(len(block.ends))
    return _Stored(*(np.concatenate([getattr(one, part) for one in kept]) for part in ("ends", "sizes", "found")))


def _head_recall(truth: Items, got: Items) -> list[float]:
    """Share of the first items of a true ring among as many of the stored one, at each of `CUTS`."""
    return [len(np.intersect1d(truth[:cut], got[:cut])) / len(truth[:cut]) for cut in CUTS]


def _recall_of_ring(items: Items, inputs: RingInputs, stored: _Stored, config: RingConfig, ring: int) -> list[float]:
    probed, offsets, recalls = np.flatnonzero(stored.found < ring), _offsets(stored.ends), []
    for place in np.unique(np.linspace(0, len(probed) - 1, config.sample).astype(np.int64)).tolist():
        anchor = int(probed[place])
        whole = anchor_rings(inputs, anchor, config.alpha)
        truth = whole.items[whole.ends[ring - 2] : whole.ends[ring - 1]]
        begin, end = offsets[anchor] + stored.ends[anchor, ring - 2 : ring]
        if len(truth):
            recalls.append(_head_recall(truth, items[begin:end]))
    return [float(recall) for recall in np.mean(recalls or [[1.0] * len(CUTS)], axis=0)]


def _probe_recall(items: Items, inputs: RingInputs, stored: _Stored, config: RingConfig) -> dict[str, dict[str, float]]:
    """Of each ring that was probed: share of its true head that is stored, over evenly spread anchors."""
    names = [f"recall_at_{cut}" for cut in CUTS]
    probed = [ring for ring in range(2, N_RINGS + 1) if np.any(stored.found < ring)]
    recalls = {ring: _recall_of_ring(items, inputs, stored, config, ring) for ring in probed}
    return {f"ring{ring}": dict(zip(names, recall, strict=True)) for ring, recall in recalls.items()}


def write_ring_lists(
    writer: BundleWriter,
    graph: Graph,
    embeddings: Floats,
    neighbours: Items,
    config: RingConfig,
    progress: Callable[[int], None] = lambda _: None,
    blocks: Iterable[RingBlock] | None = None,
) -> dict[str, Any]:
    """Compute the ring lists of every anchor, write the five ring arrays and the manifest section `rings`.

    Args:
        writer: the bundle being built.
        graph: the transition graph.
        embeddings: float32 [n, d], L2-normalised, zero = no text.
        neighbours: int32 [n, m], text neighbours, padded with -1.
        config: alpha, depth, limits.
        progress: told the number of anchors done since the last call.
        blocks: what `ring_blocks` gives, computed elsewhere; None = compute it here.

    Returns:
        The facts of the section.
    """
    inputs = ring_inputs(graph, embeddings)
    if blocks is None:
        blocks = ring_blocks(inputs, reverse(graph), read_only(neighbours), config)
    stored = _stream(writer, blocks, progress)
    kept_room.cache_clear()
    writer.add_array(layout.RING_OFFSETS, _offsets(stored.ends))
    writer.add_array(layout.RING_ENDS, stored.ends)
    writer.add_array(layout.RING_SIZES, stored.sizes)
    facts = {
        **asdict(config),
        "stored_items": int(stored.ends[:, N_RINGS - 1].sum()),
        "mean_sizes": stored.sizes.mean(axis=0).tolist(),
        "probed_anchors": {f"ring{ring}": int((stored.found < ring).sum()) for ring in range(2, N_RINGS + 1)},
        "probe_recall": _probe_recall(writer.read_array(layout.RING_ITEMS), inputs, stored, config),
    }
    writer.section(SECTION, facts)
    return facts
