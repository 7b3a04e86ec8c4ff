"""Dense retrieval without torch: a history becomes a query vector (ONNX Runtime), the vector finds items (FAISS)."""

from pathlib import Path
from typing import Any

import faiss
import numpy as np
import onnxruntime

from models.bundle import layout
from models.bundle.reader import Bundle
from models.neural.weights import encoder_inputs
from models.retrieval import Eligible, Items, StageClock
from models.similarity import Floats

REQUIRES = (layout.QUERY_ENCODER, layout.ITEM_VECTORS, layout.INDEX)
"""Artifacts that dense retrieval needs."""

_faiss: Any = faiss
"""Untyped: the stubs lack the constructors that take keywords."""

RESCORED = 4
"""Items whose exact cosine is taken for each one wanted, where an index holds codes."""

MAPPED_FROM_BYTES = 256 << 20
"""Size of an index that is shared between processes rather than read by each."""

MARGIN = 8
"""Further items that a search asks for, to see whether equal scores straddle the end of the list."""


def open_session(path: Path, threads: int) -> Any:
    """An ONNX Runtime session on the CPU whose threads sleep when there is nothing to do."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


class QueryEncoder:
    """Histories to query vectors.

    Args:
        model: the ONNX file.
        inputs: float32 [n, tokens, d]: items as the encoder takes them in.
        history: newest items of a history that count.
        threads: of ONNX Runtime.
    """

    def __init__(self, model: Path, inputs: Floats, history: int, threads: int) -> None:
        self._session, self._inputs, self._history = open_session(model, threads), inputs, history

    def encode(self, history: Items) -> Floats:
        """float32 [d], L2-normalised, of one history of at least one item."""
        newest = history[-self._history :]
        feeds = {"items": self._inputs[newest][None], "lengths": np.array([len(newest)], np.int64)}
        query: Floats = self._session.run(["queries"], feeds)[0][0]
        return query


class DenseIndex:
    """Items by the cosine of their vectors with a query.

    Args:
        index: FAISS, inner product.
        vectors: float32 [n, d], may be memory-mapped: what cosines are taken from where the index itself holds only
            product-quantised codes; it then proposes `RESCORED` times as many items as are wanted.
    """

    def __init__(self, index: Any, vectors: Floats) -> None:
        self._index, self._vectors = index, vectors
        self._coarse = isinstance(index, faiss.IndexIVFPQ)

    def search(self, query: Floats, depth: int, eligible: Eligible) -> tuple[Items, Floats]:
        """The `depth` eligible items of the greatest cosine, best first, ties by item index.

        Args:
            query: float32 [d].
            depth: number wanted, >= 1.
            eligible: what may be returned.
        """
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
        self.index = DenseIndex(read_index(bundle.file(layout.INDEX)), bundle.array(layout.ITEM_VECTORS))
        self.encoder.encode(np.zeros(1, np.int32))

    @classmethod
    def of(cls, bundle: Bundle) -> "Dense":
        """One for all retrievers of an open bundle."""
        return bundle.shared(cls, lambda: cls(bundle))

    def nearest(self, history: Items, depth: int, eligible: Eligible, clock: StageClock) -> tuple[Items, Floats]:
        """The `depth` eligible items nearest to a history's query vector, and their cosines."""
        query = self.encoder.encode(history)
        clock.end("encode")
        found = self.index.search(query, depth, eligible)
        clock.end("search")
        return found
