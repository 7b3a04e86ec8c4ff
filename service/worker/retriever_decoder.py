"""A bundle's retriever as the worker's decoder."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from models.bundle.layout import POPULAR_ORDER
from models.bundle.reader import Bundle
from models.filters import both
from models.registry import open_retriever
from models.retrieval import Candidates, Eligible, Query, Retriever
from models.words import RetrieverName
from service.ports import StockMask
from service.worker.decoder import Decoder, Opener

WARM_K = 50


class RetrieverDecoder:
    """A retriever of the bundle, kept to the stock of this moment."""

    def __init__(self, bundle: Bundle, retriever: Retriever, stock: StockMask) -> None:
        self._bundle, self._retriever, self._stock = bundle, retriever, stock
        self.version = bundle.version

    def decode(self, queries: Sequence[Query]) -> list[Candidates]:
        """Lists of items that may be sold now."""
        stock = self._stock.mask
        return self._retriever.retrieve_batch([_within(query, stock) for query in queries])

    def sample(self) -> Query:
        """The two most popular items as a history."""
        history = np.asarray(self._bundle.array(POPULAR_ORDER)[:2], np.int32)
        return Query(history, WARM_K, Eligible(self._bundle.n_items))


def _within(query: Query, stock: npt.NDArray[np.bool_] | None) -> Query:
    if stock is None:
        return query
    return replace(query, eligible=replace(query.eligible, mask=both(query.eligible.mask, stock)))


def opener(root: Path, name: RetrieverName, view: Callable[[Bundle], StockMask]) -> Opener:
    """Opens retriever `name` of bundles below `root`.

    Args:
        root: folder of bundles.
        name: which retriever; `gr` in production.
        view: stock over a bundle.
    """

    def open_version(version: str) -> Decoder:
        bundle = Bundle.open(root, version=version)
        return RetrieverDecoder(bundle, open_retriever(bundle, name), view(bundle))

    return open_version
