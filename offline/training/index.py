"""The FAISS index of item vectors: flat up to a stated size, otherwise what measurement says."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import faiss
import numpy as np
import numpy.typing as npt

from models.dense import DenseIndex
from models.retrieval import Eligible

Vectors = npt.NDArray[np.float32]
ADDED = 1_000_000
"""Vectors that an index takes in at once."""
POINTS_A_CENTROID = 39
"""FAISS warns of fewer."""


@dataclass(frozen=True, slots=True)
class IndexConfig:
    """When an index is approximate, and how good it has to be."""

    flat_items: int = 200_000
    """Largest catalogue that is compared item by item, in half precision where that finds the same items."""
    coded_items: int = 5_000_000
    """Largest catalogue whose index holds whole vectors; beyond it one byte for four
    dimensions, whose best are compared again with the vectors of the bundle."""
    least_half_recall: float = 0.995
    """Share of the single-precision index's items that half precision must find: it takes half the time."""
    depth: int = 100
    """Recall is measured at this depth."""
    least_recall: float = 0.98
    """The fastest index that finds at least this share of the flat index's items is taken, else the most faithful."""
    sample: int = 500
    """Queries that recall and time are measured with."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An index, and how many cells of it are probed where it has cells."""

    kind: str
    index: Any
    probes: int | None = None

    def ready(self) -> Any:
        """The index, set to so many probes: candidates may share one."""
        if self.probes is not None:
            self.index.nprobe = min(self.probes, self.index.nlist)
        return self.index


@dataclass(frozen=True, slots=True)
class Measured:
    """A candidate, its recall against comparing with every vector, and its time a query on one thread."""

    candidate: Candidate
    recall: float
    query_us: float


def build_index(vectors: Vectors, queries: Vectors, config: IndexConfig) -> tuple[Any, dict[str, Any]]:
    """An inner-product index over float32 [n, d] and the facts for the manifest.

    Args:
        vectors: L2-normalised item vectors.
        queries: float32 [m, d], what it will be asked.
        config: sizes and bounds.
    """
    n, sample = len(vectors), queries[: config.sample]
    facts = {"items": n, "flat_up_to": config.flat_items, "whole_vectors_up_to": config.coded_items}
    truth = faiss.knn(sample, vectors, min(config.depth, n), metric=faiss.METRIC_INNER_PRODUCT)[1]
    if n <= config.flat_items:
        half = _measured(Candidate("flat, half precision", _half(vectors)), vectors, sample, truth)
        if half.recall >= config.least_half_recall:
            return half.candidate.index, {"kind": half.candidate.kind, "recall": half.recall, **facts}
        flat = faiss.IndexFlatIP(vectors.shape[1])
        flat.add(vectors)
        return flat, {"kind": "flat", "recall": 1.0, **facts}
    candidates = _whole(vectors) if n <= config.coded_items else _coded(vectors)
    tried = [_measured(candidate, vectors, sample, truth) for candidate in candidates]
    chosen = choose(tried, config.least_recall)
    measured = {one.candidate.kind: {"recall": one.recall, "query_us": one.query_us} for one in tried}
    return chosen.candidate.ready(), {
        "kind": chosen.candidate.kind, "recall": chosen.recall, "measured": measured, **facts
    }  # fmt: skip


def _half(vectors: Vectors) -> Any:
    index = faiss.IndexScalarQuantizer(vectors.shape[1], faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT)
    index.train(vectors)
    index.add(vectors)
    return index


def choose(tried: list[Measured], least_recall: float) -> Measured:
    """The fastest of those that reach the recall, else the one with the greatest recall."""
    good = [one for one in tried if one.recall >= least_recall]
    return min(good, key=lambda one: one.query_us) if good else max(tried, key=lambda one: one.recall)


def _coded(vectors: Vectors) -> Iterator[Candidate]:
    """Product-quantised codes of four dimensions each, 8 bits where there are points enough to learn them from."""
    width, cells = vectors.shape[1], _cells(vectors)
    parts = max(part for part in range(1, max(1, width // 4) + 1) if width % part == 0)
    bits = min(8, int(np.log2(len(vectors) / POINTS_A_CENTROID)))
    coded = faiss.IndexIVFPQ(faiss.IndexFlatIP(width), width, cells, parts, bits, faiss.METRIC_INNER_PRODUCT)
    _fill(coded, vectors)
    for probes in (16, 64, 256):
        yield Candidate(f"ivf {cells} cells, {probes} probed, codes of {parts} x {bits} bits", coded, probes)


def _whole(vectors: Vectors) -> Iterator[Candidate]:
    width, cells = vectors.shape[1], _cells(vectors)
    inverted = faiss.IndexIVFFlat(faiss.IndexFlatIP(width), width, cells, faiss.METRIC_INNER_PRODUCT)
    _fill(inverted, vectors)
    for probes in (16, 64):
        yield Candidate(f"ivf {cells} cells, {probes} probed", inverted, probes)
    for breadth in (64, 256):
        graph = faiss.IndexHNSWFlat(width, 32, faiss.METRIC_INNER_PRODUCT)
        graph.hnsw.efConstruction = 100
        graph.add(vectors)
        graph.hnsw.efSearch = breadth
        yield Candidate(f"hnsw 32 links, breadth {breadth}", graph)


def _cells(vectors: Vectors) -> int:
    return int(4 * np.sqrt(len(vectors)))


def _fill(inverted: Any, vectors: Vectors) -> None:
    """Learn the cells from some of the vectors and take all of them in."""
    inverted.train(vectors[:: max(1, len(vectors) // (64 * inverted.nlist))])
    for start in range(0, len(vectors), ADDED):
        inverted.add(vectors[start : start + ADDED])


def _measured(one: Candidate, vectors: Vectors, queries: Vectors, truth: npt.NDArray[np.int64]) -> Measured:
    """As it is served, on one thread."""
    served, everything = DenseIndex(one.ready(), vectors), Eligible(len(vectors))
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        started = time.perf_counter()
        found = [served.search(query[None], [truth.shape[1]], [everything])[0][0] for query in queries]
        took = time.perf_counter() - started
    finally:
        faiss.omp_set_num_threads(threads)
    hits = [len(np.intersect1d(row, true)) for row, true in zip(found, truth, strict=True)]
    return Measured(one, float(np.sum(hits)) / truth.size, took / len(queries) * 1e6)
