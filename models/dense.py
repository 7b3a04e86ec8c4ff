"""Dense retrieval without torch: histories become query vectors (ONNX Runtime), which find items.

A catalogue whose codes fit into `FLAT_BYTES` is compared item by item, many queries at once; a larger one is searched
by the bundle's FAISS index.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import faiss
import numpy as np

from models.bundle import layout
from models.bundle.reader import Bundle
from models.flat_search import FlatIndex
from models.integer_product import is_exact
from models.neural.weights import encoder_inputs
from models.query_encoder import QueryEncoder
from models.retrieval import Eligible, Items, Query, StageClock
from models.similarity import Floats

REQUIRES = (layout.QUERY_ENCODER, layout.ITEM_VECTORS, layout.INDEX)
"""Artifacts that dense retrieval needs."""

_faiss: Any = faiss
"""Untyped: the stubs lack the constructors that take keywords."""

FLAT_BYTES = 64 << 20
"""Most memory of its own that a process gives to codes, one byte a feature of each item."""

RESCORED = 4
"""Items whose exact cosine is taken for each one wanted, where an index holds codes."""

MAPPED_FROM_BYTES = 256 << 20
"""Size of an index that is shared between processes rather than read by each."""

MARGIN = 8
"""Further items that a search asks for, to see whether equal scores straddle the end of the list."""


class DenseIndex:
    """Items by the cosine of their vectors with a query, one query after another.

    Args:
        index: FAISS, inner product.
        vectors: float32 [n, d], may be memory-mapped: what cosines are taken from where the index itself holds only
            product-quantised codes; it then proposes `RESCORED` times as many items as are wanted.
    """

    def __init__(self, index: Any, vectors: Floats) -> None:
        self._index, self._vectors, self.at_once = index, vectors, 1
        self._coarse = isinstance(index, faiss.IndexIVFPQ)

    def search(
        self, queries: Floats, depths: Sequence[int], eligible: Sequence[Eligible]
    ) -> list[tuple[Items, Floats]]:
        """For each query the `depth` eligible items of the greatest cosine, best first, ties by item index.

        Args:
            queries: float32 [B, d].
            depths: number wanted of each, >= 1.
            eligible: what may be returned for each.
        """
        return [self._search(*one) for one in zip(queries, depths, eligible, strict=True)]

    def _search(self, query: Floats, depth: int, eligible: Eligible) -> tuple[Items, Floats]:
        selector, barred = self._selector(eligible)
        reach = (depth + barred + MARGIN) * (RESCORED if self._coarse else 1)
        while True:
            items, scores = self._nearest(query, min(reach, self._index.ntotal), selector)
            kept = eligible.allows(items)
            chosen, cosines = items[kept], scores[kept]
            everything = reach >= self._index.ntotal
            settled = len(cosines) > depth and cosines[depth - 1] > cosines[-1]
            if settled or everything:
                order = np.lexsort((chosen, -cosines))[:depth]
                return chosen[order], cosines[order]
            reach *= 4

    def _nearest(self, query: Floats, count: int, selector: Any) -> tuple[Items, Floats]:
        scores, items = self._index.search(query[None], count, params=self._parameters(count, selector))
        found = items[0] >= 0
        chosen = items[0][found].astype(np.int32)
        return chosen, self._vectors[chosen] @ query if self._coarse else scores[0][found]

    def _parameters(self, count: int, selector: Any) -> Any:
        if isinstance(self._index, faiss.IndexHNSW):
            return _faiss.SearchParametersHNSW(sel=selector, efSearch=max(self._index.hnsw.efSearch, count))
        if isinstance(self._index, faiss.IndexIVF):
            return _faiss.SearchParametersIVF(sel=selector, nprobe=self._index.nprobe)
        return None if selector is None else _faiss.SearchParameters(sel=selector)

    def _selector(self, eligible: Eligible) -> tuple[Any, int]:
        """A selector over the mask, and how many of the best items the request itself may bar."""
        if eligible.mask is None:
            return None, len(eligible.blocked)
        return _faiss.IDSelectorBitmap(np.packbits(eligible.mask, bitorder="little")), len(eligible.blocked)


def read_index(path: Path) -> Any:
    """A FAISS index: a small one in memory of its own, where the pages are larger and a search faster by a quarter.

    A large one stays in its file, mapped, so that processes share it.
    """
    flags = faiss.IO_FLAG_MMAP_IFC if path.stat().st_size >= MAPPED_FROM_BYTES else 0
    return _faiss.read_index(str(path), flags)


def open_index(bundle: Bundle, threads: int) -> FlatIndex | DenseIndex:
    """The way to search that suits the size of the catalogue."""
    vectors = bundle.array(layout.ITEM_VECTORS)
    if vectors.size <= FLAT_BYTES and is_exact():
        return FlatIndex(vectors, threads)
    return DenseIndex(read_index(bundle.file(layout.INDEX)), vectors)


class Dense:
    """Encoder and index of a bundle.

    Args:
        bundle: holds `REQUIRES`.
        threads: of ONNX Runtime and FAISS.
    """

    def __init__(self, bundle: Bundle, threads: int = 1) -> None:
        faiss.omp_set_num_threads(threads)
        history = int(bundle.manifest.sections["training"]["config"]["history"])
        self.encoder = QueryEncoder(bundle.file(layout.QUERY_ENCODER), encoder_inputs(bundle), history, threads)
        self.index = open_index(bundle, threads)
        self.encoder.encode([np.zeros(1, np.int32)])

    @classmethod
    def of(cls, bundle: Bundle) -> "Dense":
        """One for all retrievers of an open bundle."""
        return bundle.shared(cls, lambda: cls(bundle))

    def nearest(self, queries: Sequence[Query], depths: Sequence[int], clock: StageClock) -> list[tuple[Items, Floats]]:
        """The `depth` eligible items nearest to each query's history, and their cosines.

        Args:
            queries: each with a history.
            depths: number wanted of each.
            clock: is told of encoding and search.
        """
        vectors = self.encoder.encode([query.history for query in queries])
        clock.end("encode")
        found = self.index.search(vectors, depths, [query.eligible for query in queries])
        clock.end("search")
        return found
