"""Small bundles for tests, written through the real writer and the real jobs' maths.

A retriever joins the contract suite by an entry in `ARTIFACTS`: a function that adds what it needs for any `Shop`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from models.bundle import layout
from models.bundle.manifest import SplitInfo
from models.bundle.reader import Bundle
from models.bundle.writer import BundleWriter
from models.graph import Graph, build_graph
from models.ids import ItemIds
from models.neighbours import NeighbourConfig, text_neighbours
from models.ring_store import write_ring_lists
from models.rings import RingConfig
from models.value import SECTION, value_components

SMALL_RINGS = RingConfig(depth=(4, 3, 2), block=7)
"""Shallow lists, so that many queries need the computation behind them."""


@dataclass(frozen=True)
class Shop:
    """A catalogue and its transitions.

    Attributes:
        ids: in index order.
        embeddings: float32 [n, d], unit rows or zero.
        edges: (source, target, count) rows.
        popularity: int64 [n].
        brand_codes: int32 [n].
        rings: how ring lists are stored.
        neighbours: how many text neighbours are stored.
    """

    ids: tuple[str, ...]
    embeddings: np.ndarray
    edges: tuple[tuple[int, int, int], ...]
    popularity: np.ndarray
    brand_codes: np.ndarray
    rings: RingConfig = field(default_factory=RingConfig)
    neighbours: NeighbourConfig = field(default_factory=NeighbourConfig)

    @property
    def n_items(self) -> int:
        """Catalogue size."""
        return len(self.ids)

    def graph(self) -> Graph:
        """Its transition graph."""
        columns = np.array(self.edges, np.int64).reshape(-1, 3).T
        return build_graph(columns[0].astype(np.int32), columns[1].astype(np.int32), columns[2], self.n_items)


def add_ids(writer: BundleWriter, ids: ItemIds) -> None:
    """The three id arrays."""
    writer.add_array(layout.ID_BYTES, ids.data)
    writer.add_array(layout.ID_OFFSETS, ids.offsets)
    writer.add_array(layout.ID_SLOTS, ids.slots)


def add_training_free(writer: BundleWriter, shop: Shop) -> None:
    """What tgh-1, tgh-2, sem-nn and popular need, and the value components."""
    graph = shop.graph()
    neighbours, _ = text_neighbours(shop.embeddings, shop.neighbours)
    values = value_components(shop.popularity, None, shop.brand_codes)
    writer.section(SECTION, values.facts())
    for name, array in {
        layout.EMBEDDINGS: shop.embeddings,
        layout.TEXT_NEIGHBOURS: neighbours,
        layout.GRAPH_OFFSETS: graph.offsets,
        layout.GRAPH_TARGETS: graph.targets,
        layout.GRAPH_COUNTS: graph.counts,
        layout.GRAPH_WEIGHTS: graph.weights,
        layout.POPULARITY: shop.popularity,
        layout.POPULAR_ORDER: np.argsort(-shop.popularity, kind="stable").astype(np.int32),
        layout.VALUE_COMPONENTS: values.components,
        layout.BRAND_CODES: shop.brand_codes,
    }.items():
        writer.add_array(name, array)
    write_ring_lists(writer, graph, shop.embeddings, neighbours, shop.rings)


ARTIFACTS: tuple[Callable[[BundleWriter, Shop], None], ...] = (add_training_free,)
"""Called in turn for every bundle below."""


def build(root: Path, shop: Shop, more: Callable[[BundleWriter, Shop], None] | None = None) -> Bundle:
    """The shop's bundle, published below a root and open; `more` adds artifacts that few tests need."""
    with BundleWriter.create(root, split=SplitInfo(), config={"rings": {"alpha": shop.rings.alpha}}) as writer:
        add_ids(writer, ItemIds.from_strings(shop.ids))
        for add in ARTIFACTS:
            add(writer, shop)
        if more is not None:
            more(writer, shop)
        writer.publish()
    return Bundle.open(root)


def at_angles(*degrees: float) -> np.ndarray:
    """float32 [n, 2]: unit vectors, so that the cosine of two is that of the angle between them."""
    radians = np.deg2rad(degrees)
    return np.stack([np.cos(radians), np.sin(radians)], axis=1).astype(np.float32)


def plain_shop() -> Shop:
    """Ten items whose lists can be read off.

    Rings of a: {b, c, d}, {e, f}, {g, h}. The text of an item is nearer the nearer its letter, the gap to the next
    letter growing by a degree; j has no text. Popularity falls from j to a.
    """
    embeddings = at_angles(0, 1, 3, 6, 10, 15, 21, 28, 36, 0)
    embeddings[9] = 0
    edges = ((0, 1, 4), (0, 2, 2), (0, 3, 1), (1, 4, 1), (2, 5, 1), (3, 4, 1), (4, 6, 1), (5, 7, 1))
    brands = np.array([0, 0, 0, 1, 1, 2, -1, -1, -1, -1], np.int32)
    return Shop(tuple("abcdefghij"), embeddings, edges, np.arange(1, 11, dtype=np.int64), brands)


def one_item_shop() -> Shop:
    """One item that followed itself."""
    return Shop(("only",), at_angles(0), ((0, 0, 1),), np.array([2], np.int64), np.array([0], np.int32))


def twin_shop() -> Shop:
    """Eight items alike in every respect, each followed once by each: only their index tells them apart."""
    edges = tuple((source, target, 1) for source in range(8) for target in range(8))
    return Shop(
        tuple(f"twin-{place}" for place in range(8)),
        at_angles(*[0] * 8),
        edges,
        np.full(8, 3, np.int64),
        np.zeros(8, np.int32),
        SMALL_RINGS,
    )


def odd_shop(seed: int, *, n_items: int = 40, rings: RingConfig = SMALL_RINGS) -> Shop:
    """A random shop full of ties, items without text or edges, hubs and items that follow themselves."""
    rng = np.random.default_rng(seed)
    embeddings = rng.choice(at_angles(0, 30, 45, 90, 120, 180), n_items).astype(np.float32)
    embeddings[rng.random(n_items) < 0.1] = 0
    sources = np.minimum(rng.geometric(0.15, 2 * n_items), n_items) - 1
    targets, counts = rng.integers(0, n_items, 2 * n_items), rng.integers(1, 4, 2 * n_items)
    edges = tuple(zip(sources.tolist(), targets.tolist(), counts.tolist(), strict=True))
    return Shop(
        tuple(f"{place:03d}" for place in range(n_items)),
        embeddings,
        edges,
        rng.integers(0, 4, n_items),
        rng.integers(-1, 4, n_items).astype(np.int32),
        rings,
        NeighbourConfig(m=6),
    )
