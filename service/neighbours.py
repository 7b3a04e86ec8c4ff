"""The transition graph around one item, for people."""

from typing import Any

import numpy as np
import numpy.typing as npt

from models.bundle import layout
from models.bundle.reader import Bundle
from models.retrieval import Items
from service.catalogue import Catalogue

Edges = npt.NDArray[np.int64]
"""Positions in the edge arrays."""


def outgoing(bundle: Bundle, index: int) -> tuple[Items, Edges]:
    """Items that followed the item, and their edges."""
    offsets = bundle.array(layout.GRAPH_OFFSETS)
    edges = np.arange(offsets[index], offsets[index + 1])
    return np.asarray(bundle.array(layout.GRAPH_TARGETS)[edges]), edges


def incoming(bundle: Bundle, index: int) -> tuple[Items, Edges]:
    """Items that the item followed, and their edges; one scan over all edges."""
    edges = np.flatnonzero(bundle.array(layout.GRAPH_TARGETS) == index)
    sources = np.searchsorted(bundle.array(layout.GRAPH_OFFSETS), edges, side="right") - 1
    return sources.astype(np.int32), edges


def _most_frequent(bundle: Bundle, items: Items, edges: Edges, limit: int) -> tuple[Items, Edges]:
    """Most frequent first, ties by item index. Weights of edges into an item are scaled by different sources, counts
    are not; out of one item both give the same order."""
    counts = bundle.array(layout.GRAPH_COUNTS)[edges].astype(np.int64)
    best = np.lexsort((items, -counts))[:limit]
    return items[best], edges[best]


def _rows(bundle: Bundle, catalogue: Catalogue, items: Items, edges: Edges) -> list[dict[str, Any]]:
    counts = bundle.array(layout.GRAPH_COUNTS)[edges].tolist()
    weights = np.round(bundle.array(layout.GRAPH_WEIGHTS)[edges].astype(np.float64), 6).tolist()
    rows = zip(bundle.ids.strings(items), catalogue.titles(items), counts, weights, strict=True)
    return [
        {"item_id": item_id, "title": title, "count": count, "weight": weight, "hop": 1}
        for item_id, title, count, weight in rows
    ]


def neighbourhood(bundle: Bundle, catalogue: Catalogue, index: int, *, limit: int) -> dict[str, Any]:
    """The most frequent edges out of and into an item, as `NeighboursAnswer` documents it."""
    out_items, out_edges = _most_frequent(bundle, *outgoing(bundle, index), limit)
    in_items, in_edges = _most_frequent(bundle, *incoming(bundle, index), limit)
    sizes = bundle.array(layout.RING_SIZES)[index].tolist() if bundle.has(layout.RING_SIZES) else None
    return {
        "item_id": bundle.ids.id(index),
        "neighbours": _rows(bundle, catalogue, out_items, out_edges),
        "incoming": _rows(bundle, catalogue, in_items, in_edges),
        "ring_sizes": sizes,
        "bundle": bundle.version,
    }
