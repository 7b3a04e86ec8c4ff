"""A bundle's retriever as the worker's decoder."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import xxhash

from models.bundle.layout import POPULAR_ORDER
from models.bundle.reader import Bundle
from models.filters import both
from models.registry import open_retriever
from models.retrieval import Candidates, Eligible, Query, Retriever
from models.words import RetrieverName
from service.ports import StockMask
from service.worker.decoder import Decoder, Opener

WARM_K = 50
KEPT_MASKS = 32
Mask = npt.NDArray[np.bool_]


class Masks:
    """Filters under the stock of this moment. Equal filters give the very same array, so that what a retriever derives
    from a mask can be kept by it."""

    def __init__(self, stock: StockMask) -> None:
        self._stock = stock
        self._of: Mask | None = None
        self._kept: OrderedDict[bytes, Mask | None] = OrderedDict()

    def under_stock(self, wanted: Mask | None) -> Mask | None:
        """What the filter and the stock both allow."""
        stock = self._stock.mask
        if wanted is None:
            return stock
        if stock is not self._of:
            self._of = stock
            self._kept.clear()
        key = xxhash.xxh3_128_digest(wanted.tobytes())
        if key not in self._kept:
            self._kept[key] = both(wanted, stock)
        self._kept.move_to_end(key)
        while len(self._kept) > KEPT_MASKS:
            self._kept.popitem(last=False)
        return self._kept[key]


class RetrieverDecoder:
    """A retriever of the bundle, kept to the stock of this moment."""

    def __init__(self, bundle: Bundle, retriever: Retriever, stock: StockMask) -> None:
        self._bundle, self._retriever, self._masks = bundle, retriever, Masks(stock)
        self.version = bundle.version

    def decode(self, queries: Sequence[Query]) -> list[Candidates]:
        """Lists of items that may be sold now."""
        return self._retriever.retrieve_batch([self._within(query) for query in queries])

    def _within(self, query: Query) -> Query:
        mask = self._masks.under_stock(query.eligible.mask)
        return replace(query, eligible=replace(query.eligible, mask=mask))

    def sample(self) -> Query:
        """The two most popular items as a history."""
        history = np.asarray(self._bundle.array(POPULAR_ORDER)[:2], np.int32)
        return Query(history, WARM_K, Eligible(self._bundle.n_items))


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
