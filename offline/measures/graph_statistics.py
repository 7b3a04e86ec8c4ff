"""What a transition graph looks like before any model is trained (arXiv 2605.07125)."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from models.errors import InputError
from offline.measures.arrays import Floats, Longs, Ragged

BLOCK_PAIRS = 65_536


@dataclass(frozen=True, slots=True)
class GraphStatistics:
    """Size and strength of the graph.

    Attributes:
        items: catalogue size, items without an edge included.
        edges: pairs (i, j) where j directly followed i in training at least once.
        mean_out_degree: edges / items.
        mean_edge_weight: mean w_ij, in (0, 1]; NaN without edges.
    """

    items: int
    edges: int
    mean_out_degree: float
    mean_edge_weight: float


@dataclass(frozen=True, slots=True)
class Smoothness:
    """How alike the texts of linked items are, against items picked at random.

    Attributes:
        edges: mean cosine over edges between different items.
        random: mean cosine over as many random pairs of different items.
        effect: (edges - random) / standard deviation over the random pairs (Cohen, 1988: 0.2 small, 0.8 large).
    """

    edges: float
    random: float
    effect: float


def graph_statistics(graph: Ragged) -> GraphStatistics:
    """Edges, mean out-degree and mean edge weight.

    Args:
        graph: one row an item: the items that directly follow it, with edge weights.

    >>> graph = Ragged.from_pairs(np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([1.0, 0.5, 1.0]), n_rows=4)
    >>> stats = graph_statistics(graph)
    >>> stats.edges, stats.mean_out_degree, round(stats.mean_edge_weight, 4)
    (3, 0.75, 0.8333)
    """
    edges = len(graph.indices)
    degree = edges / graph.n_rows if graph.n_rows else float("nan")
    weight = float(graph.weights.mean()) if edges else float("nan")
    return GraphStatistics(graph.n_rows, edges, degree, weight)


def feature_smoothness(graph: Ragged, embeddings: npt.NDArray[np.float32], rng: np.random.Generator) -> Smoothness:
    """Mean cosine of the text embeddings over edges and over as many random pairs of different items.

    An edge of an item to itself says nothing about texts and is left out.

    Args:
        graph: one row an item.
        embeddings: float32 [n_items, d], any length a row; a row of zeros (no text) has cosine 0 with all.
        rng: source of the random pairs.

    Raises:
        InputError: another number of embeddings than items in the graph.

    >>> graph = Ragged.from_pairs(np.array([0, 2]), np.array([1, 3]), n_rows=4)
    >>> texts = np.array([[1, 0], [1, 0], [0, 1], [0, 1]], np.float32)
    >>> smooth = feature_smoothness(graph, texts, np.random.default_rng(1))
    >>> smooth.edges
    1.0
    """
    if len(embeddings) != graph.n_rows:
        raise InputError(
            "text embeddings",
            found=f"{len(embeddings)} rows",
            expected=f"{graph.n_rows}, one an item of the graph",
            remedy="Embed the catalogue that the graph was built on.",
        )
    left, right = graph.row_of_entry(), graph.indices.astype(np.int64)
    apart = left != right
    linked = _cosines(embeddings, left[apart], right[apart])
    if not len(linked):
        return Smoothness(float("nan"), float("nan"), float("nan"))
    drawn = _cosines(embeddings, *_random_pairs(graph.n_rows, len(linked), rng))
    gap, spread = float(linked.mean() - drawn.mean()), float(drawn.std())
    return Smoothness(float(linked.mean()), float(drawn.mean()), gap / spread if spread > 0 else float("nan"))


def _random_pairs(n_items: int, n: int, rng: np.random.Generator) -> tuple[Longs, Longs]:
    """n pairs of different items, evenly drawn."""
    left = rng.integers(0, n_items, n)
    right = rng.integers(0, n_items - 1, n)
    return left, right + (right >= left)


def _cosines(embeddings: npt.NDArray[np.float32], left: Longs, right: Longs) -> Floats:
    """float64 [pairs], a block at a time."""
    length = np.linalg.norm(embeddings, axis=1).astype(np.float64)
    dots = np.empty(len(left))
    for start in range(0, len(left), BLOCK_PAIRS):
        block = slice(start, start + BLOCK_PAIRS)
        dots[block] = np.einsum("nd,nd->n", embeddings[left[block]], embeddings[right[block]])
    scale = length[left] * length[right]
    cosines: Floats = np.divide(dots, scale, out=np.zeros_like(dots), where=scale > 0)
    return cosines
