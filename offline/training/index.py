"""The FAISS index of item vectors: flat up to a stated size, otherwise what measurement says."""

import time
from dataclasses import dataclass
from typing import Any

import faiss
import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class IndexConfig:
    """When an index is approximate, and how good it has to be."""

    flat_items: int = 200_000
    """Largest catalogue that is compared item by item, in half precision where that finds the same items."""
    least_half_recall: float = 0.995
    """Share of the single-precision index's items that half precision must find: it takes half the time."""
    depth: int = 100
    """Recall is measured at this depth."""
    least_recall: float = 0.98
    """The fastest index that finds at least this share of the flat index's items is taken, else the most faithful."""
    sample: int = 500
    """Queries that recall and time are measured with."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One candidate: its kind, recall against the flat index and time a query on one thread."""

    kind: str
    recall: float
    query_us: float
    index: Any


def build_index(vectors: Vectors, queries: Vectors, config: IndexConfig) -> tuple[Any, dict[str, Any]]:
    """An inner-product index over float32 [n, d] and the facts for the manifest.

    Args:
        vectors: L2-normalised item vectors.
        queries: float32 [m, d], what it will be asked.
        config: sizes and bounds.
    """
    flat = faiss.IndexFlatIP(vectors.shape[1])
    flat.add(vectors)
    sample, facts = queries[: config.sample], {"items": len(vectors), "flat_up_to": config.flat_items}
    truth = flat.search(sample, min(config.depth, len(vectors)))[1]
    if len(vectors) <= config.flat_items:
        half = _measured("flat, half precision", _half(vectors), sample, truth)
        if half.recall >= config.least_half_recall:
            return half.index, {"kind": half.kind, "recall": half.recall, **facts}
        return flat, {"kind": "flat", "recall": 1.0, **facts}
    tried = [_measured(kind, index, sample, truth) for kind, index in _candidates(vectors)]
    chosen = choose(tried, config.least_recall)
    measured = {one.kind: {"recall": one.recall, "query_us": one.query_us} for one in tried}
    return chosen.index, {"kind": chosen.kind, "recall": chosen.recall, "measured": measured, **facts}


def _half(vectors: Vectors) -> Any:
    index = faiss.IndexScalarQuantizer(vectors.shape[1], faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT)
    index.train(vectors)
    index.add(vectors)
    return index


def choose(tried: list[Measured], least_recall: float) -> Measured:
    """The fastest of those that reach the recall, else the one with the greatest recall."""
    good = [one for one in tried if one.recall >= least_recall]
    return min(good, key=lambda one: one.query_us) if good else max(tried, key=lambda one: one.recall)


def _candidates(vectors: Vectors) -> list[tuple[str, Any]]:
    width, cells = vectors.shape[1], int(4 * np.sqrt(len(vectors)))
    candidates: list[tuple[str, Any]] = []
    for probes in (16, 64):
        inverted = faiss.IndexIVFFlat(faiss.IndexFlatIP(width), width, cells, faiss.METRIC_INNER_PRODUCT)
        inverted.train(vectors[:: max(1, len(vectors) // (64 * cells))])
        inverted.add(vectors)
        inverted.nprobe = min(probes, cells)
        candidates.append((f"ivf {cells} cells, {inverted.nprobe} probed", inverted))
    for breadth in (64, 256):
        graph = faiss.IndexHNSWFlat(width, 32, faiss.METRIC_INNER_PRODUCT)
        graph.hnsw.efConstruction = 100
        graph.add(vectors)
        graph.hnsw.efSearch = breadth
        candidates.append((f"hnsw 32 links, breadth {breadth}", graph))
    return candidates


def _measured(kind: str, index: Any, queries: Vectors, truth: npt.NDArray[np.int64]) -> Measured:
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        started = time.perf_counter()
        found = np.concatenate([index.search(query[None], truth.shape[1])[1] for query in queries])
        took = time.perf_counter() - started
    finally:
        faiss.omp_set_num_threads(threads)
    hits = [len(np.intersect1d(row, true)) for row, true in zip(found, truth, strict=True)]
    return Measured(kind, float(np.sum(hits)) / truth.size, took / len(queries) * 1e6, index)
