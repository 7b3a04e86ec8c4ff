"""Semantic IDs: residual quantisation of text embeddings, made unique by a last code.

Residual k-means (the default, through FAISS) quantises an embedding, then what the first centroid left over, and so on
(arXiv 2305.05065 section 3.1 describes the residual scheme). `models.neural.rqvae` learns the codebooks instead.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

import faiss
import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]
Codes = npt.NDArray[np.int32]
AT_ONCE = 8192
"""Items that are assigned together."""


class Quantiser(StrEnum):
    """How codebooks are learnt."""

    KMEANS = "kmeans"
    RQVAE = "rqvae"


@dataclass(frozen=True, slots=True)
class IdConfig:
    """Shape and training of the codebooks."""

    quantiser: Quantiser = Quantiser.KMEANS
    levels: int = 3
    """Levels before the code that makes IDs unique."""
    codebook: int = 256
    """Codes a level."""
    iterations: int = 25
    """k-means iterations a level."""
    epochs: int = 100
    """Passes over the items when an RQ-VAE is trained."""
    seed: int = 1


@dataclass(frozen=True, slots=True)
class IdReport:
    """What is worth knowing about a set of IDs.

    Attributes:
        shared: items whose quantised ID is also another item's.
        collisions: items minus distinct quantised IDs.
        largest_group: most items with one quantised ID (= size of the last codebook).
        used: share of each codebook's codes that some item carries, 0 to 1.
        reconstruction_error: mean squared distance between embeddings and their reconstruction.
        relative_error: the same divided by the embeddings' mean squared distance from their mean.
    """

    shared: int
    collisions: int
    largest_group: int
    used: tuple[float, ...]
    reconstruction_error: float
    relative_error: float

    def facts(self) -> dict[str, Any]:
        """For the manifest."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class SemanticIds:
    """IDs of a whole catalogue.

    Attributes:
        codes: int32 [n_items, levels + 1], unique rows.
        codebooks: number of codes at each level, the last one = `report.largest_group`.
        report: collisions, use, reconstruction.
    """

    codes: Codes
    codebooks: tuple[int, ...]
    report: IdReport


def kmeans_ids(
    embeddings: Vectors,
    learnt_from: npt.NDArray[np.bool_],
    config: IdConfig,
    assigned: Callable[[Sequence[Vectors]], Iterable[Codes]] | None = None,
) -> SemanticIds:
    """IDs of all items, codebooks learnt from some.

    Args:
        embeddings: float32 [n_items, d].
        learnt_from: bool [n_items]: items seen in training; the others are only assigned.
        config: levels, codebook size, seed.
        assigned: codebooks -> codes of consecutive items, as `assign` gives them; None = computed here.
    """
    books = _books(np.array(embeddings[learnt_from], np.float32), config)
    parts = assigned(books) if assigned else _assigned(embeddings, books)
    quantised = np.concatenate(list(parts))
    reconstruction = np.zeros(embeddings.shape, np.float32)
    for level, book in enumerate(books):
        reconstruction += book[quantised[:, level]]
    return finished(quantised, embeddings, reconstruction, config)


def _books(residual: Vectors, config: IdConfig) -> list[Vectors]:
    """A codebook a level, learnt from what the levels before left of float32 [n, d] vectors, which are overwritten."""
    books = []
    for level in range(config.levels):
        books.append(_centroids(residual, config, seed=config.seed + level))
        residual -= books[-1][nearest_centroid(residual, books[-1])]
    return books


def assign(vectors: Vectors, books: Sequence[Vectors]) -> Codes:
    """int32 [n, levels]: of float32 [n, d] vectors, the nearest centroid of each level, residual after residual.

    To the last bit the distances depend on which vectors are assigned together, so all who shall agree divide the
    items alike.
    """
    residual, columns = np.array(vectors, np.float32), []
    for book in books:
        columns.append(nearest_centroid(residual, book))
        residual -= book[columns[-1]]
    return np.stack(columns, axis=1)


def _assigned(embeddings: Vectors, books: Sequence[Vectors]) -> Iterable[Codes]:
    return (assign(embeddings[start : start + AT_ONCE], books) for start in range(0, len(embeddings), AT_ONCE))


def finished(quantised: Codes, embeddings: Vectors, reconstruction: Vectors, config: IdConfig) -> SemanticIds:
    """Unique IDs and their report from int32 [n_items, levels] quantised codes."""
    codes = with_unique_code(quantised)
    largest = int(codes[:, -1].max()) + 1
    return SemanticIds(
        codes,
        (config.codebook,) * config.levels + (largest,),
        _report(codes, config.codebook, embeddings, reconstruction),
    )


def with_unique_code(quantised: Codes) -> Codes:
    """Append a code that numbers the items of equal rows 0, 1, 2... in item order.

    >>> with_unique_code(np.array([[3, 1], [0, 2], [3, 1]], np.int32)).tolist()
    [[3, 1, 0], [0, 2, 0], [3, 1, 1]]
    """
    order = np.lexsort(quantised.T[::-1])
    ordered = quantised[order]
    opens = np.ones(len(order), np.bool_)
    opens[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    positions = np.arange(len(order))
    first = np.maximum.accumulate(np.where(opens, positions, 0))
    last = np.empty(len(order), np.int32)
    last[order] = positions - first
    return np.column_stack([quantised, last]).astype(np.int32)


def nearest_centroid(vectors: Vectors, centroids: Vectors) -> Codes:
    """int32 [n]: index of the centroid at the least Euclidean distance."""
    index = faiss.IndexFlatL2(centroids.shape[1])
    index.add(centroids)
    _, nearest = index.search(np.ascontiguousarray(vectors), 1)
    return np.asarray(nearest[:, 0], np.int32)


def _centroids(points: Vectors, config: IdConfig, *, seed: int) -> Vectors:
    """float32 [at most codebook, d]; every distinct point is its own centroid where there are no more than codes."""
    distinct = np.unique(points, axis=0)
    if len(distinct) <= config.codebook:
        return distinct
    means = faiss.Kmeans(
        points.shape[1], config.codebook, niter=config.iterations, seed=seed, min_points_per_centroid=1
    )
    means.train(np.ascontiguousarray(points))
    return np.asarray(means.centroids, np.float32)


def _report(codes: Codes, codebook: int, embeddings: Vectors, reconstruction: Vectors) -> IdReport:
    quantised = codes[:, :-1]
    _, group, sizes = np.unique(quantised, axis=0, return_inverse=True, return_counts=True)
    error = _mean_square(embeddings - reconstruction)
    spread = _mean_square(embeddings - embeddings.mean(axis=0))
    return IdReport(
        shared=int((sizes[group.ravel()] > 1).sum()),
        collisions=len(codes) - len(sizes),
        largest_group=int(sizes.max()),
        used=tuple(_shares(quantised.T, codebook)),
        reconstruction_error=error,
        relative_error=error / spread if spread else 0.0,
    )


def _shares(columns: npt.NDArray[np.int32], codebook: int) -> Sequence[float]:
    return [len(np.unique(column)) / codebook for column in columns]


def _mean_square(rows: Vectors) -> float:
    return float(np.square(rows, dtype=np.float64).sum(axis=1).mean())
