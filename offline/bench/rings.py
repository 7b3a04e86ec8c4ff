"""Ring lists of a synthetic shop of any size: time, memory, and the recall of rings that are probed."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from models.bundle.manifest import SplitInfo
from models.bundle.writer import BundleWriter
from models.graph import Graph, build_graph
from models.ring_store import write_ring_lists
from models.rings import RingConfig
from models.similarity import Floats, Items
from offline.measure import measured


@dataclass(frozen=True, slots=True)
class Shape:
    """A synthetic shop.

    Attributes:
        items: catalogue size.
        degree: mean out-degree; half of the items have less than half of it, as in real logs.
        most: greatest out-degree.
        width: of the embeddings.
        neighbours: text neighbours an item.
        topic: items that share a topic: near in text, and where every second edge leads.
        depth: items stored of rings 1, 2 and 3.
        max_walks: edges followed from one anchor; rings that need more are probed.
    """

    items: int = 100_000
    degree: int = 10
    most: int = 200
    width: int = 64
    neighbours: int = 50
    topic: int = 500
    depth: tuple[int, int, int] = (256, 128, 64)
    max_walks: int = RingConfig().max_walks


def synthetic_graph(shape: Shape, draw: np.random.Generator) -> Graph:
    """Out-degrees of a heavy tail; every second edge stays within the topic, the others lead to popular items."""
    n = shape.items
    degrees = np.minimum(1 + draw.pareto(1.2, n) * shape.degree * 0.35, shape.most)
    degrees = np.minimum(draw.poisson(degrees * shape.degree / degrees.mean()), shape.most)
    sources = np.repeat(np.arange(n, dtype=np.int32), degrees)
    near = (sources // shape.topic * shape.topic + draw.integers(0, shape.topic, len(sources))) % n
    popular = (n * draw.random(len(sources)) ** 2).astype(np.int64) * 7919 % n
    targets = np.where(draw.random(len(sources)) < 0.5, near, popular).astype(np.int32)
    return build_graph(sources, targets, draw.geometric(0.5, len(sources)), n)


def synthetic_texts(shape: Shape, draw: np.random.Generator) -> tuple[Floats, Items]:
    """Unit vectors around their topic's, and the nearest of each within its topic."""
    topics = -(-shape.items // shape.topic)
    rows = np.empty((topics * shape.topic, shape.width), np.float32)
    nearest = np.full((topics * shape.topic, shape.neighbours), -1, np.int32)
    for topic in range(topics):
        part = slice(topic * shape.topic, (topic + 1) * shape.topic)
        centre = draw.standard_normal(shape.width, np.float32)
        found = centre + draw.standard_normal((shape.topic, shape.width), np.float32)
        rows[part] = found / np.linalg.norm(found, axis=1, keepdims=True)
        cosines = rows[part] @ rows[part].T
        np.fill_diagonal(cosines, -2)
        nearest[part] = part.start + np.argsort(-cosines, axis=1, kind="stable")[:, : shape.neighbours]
    nearest[nearest >= shape.items] = -1
    return rows[: shape.items], nearest[: shape.items]


def bench(shape: Shape) -> dict[str, Any]:
    """Write the lists into a bundle that is thrown away; what it took and what the manifest would say."""
    draw = np.random.default_rng(7)
    graph = synthetic_graph(shape, draw)
    embeddings, neighbours = synthetic_texts(shape, draw)
    degrees, config = np.diff(graph.offsets), RingConfig(depth=shape.depth, max_walks=shape.max_walks)
    with tempfile.TemporaryDirectory() as folder:
        writer = BundleWriter.create(Path(folder), split=SplitInfo(), config={})
        with writer, measured() as cost:
            facts = write_ring_lists(writer, graph, embeddings, neighbours, config)
    return {
        "items": shape.items,
        "edges": len(graph.targets),
        "mean_out_degree": round(float(degrees.mean()), 2),
        "greatest_out_degree": int(degrees.max()),
        **cost.facts(),
        **{name: facts[name] for name in ("stored_items", "mean_sizes", "probed_anchors", "probe_recall")},
    }
