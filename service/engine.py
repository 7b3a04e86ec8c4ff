"""One bundle, open and ready to answer: retrievers, filters, stock, catalogue."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import structlog

from models.bundle import layout
from models.bundle.reader import Bundle
from models.errors import BundleError
from models.filters import Filter, FilterIndex
from models.registry import available, open_retriever
from models.retrieval import NO_ITEMS, Eligible, Items, Query, Retriever
from models.words import RetrieverName
from service.catalogue import Catalogue
from service.excluded import LONG_BODY, take_exclusions
from service.item_rows import ItemRows
from service.ports import StockMask

Mask = npt.NDArray[np.bool_]
REMOTE = frozenset({RetrieverName.GR})
"""Retrievers that run in a worker process."""
WARM_K = 50
WARM_ROUNDS = 2
WARM_BODY = b'{"exclude":["' + b'","'.join([b"-"] * LONG_BODY) + b'"]}'

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class BuildStock:
    """Stock as the catalogue said when the bundle was built."""

    mask: Mask | None


@dataclass(slots=True)
class Engine:
    """A loaded bundle. Whoever keeps the stock replaces `stock` before the engine serves.

    Attributes:
        bundle: the bundle.
        retrievers: those that run in this process, by name.
        remote: those that the bundle holds and a worker runs.
        filters: brand, category and price rules to masks.
        catalogue: titles and the rest, for people.
        stock: what may be sold now.
        rows: writes lists of items.
        version: version of the bundle.
    """

    bundle: Bundle
    retrievers: dict[RetrieverName, Retriever]
    remote: frozenset[RetrieverName]
    filters: FilterIndex
    catalogue: Catalogue
    stock: StockMask
    rows: ItemRows = field(init=False)
    version: str = field(init=False)

    def __post_init__(self) -> None:
        """What is asked for with each request."""
        self.rows, self.version = ItemRows(self.bundle.ids), self.bundle.version

    def serves(self) -> list[RetrieverName]:
        """All retrievers of the bundle, in the order of the vocabulary."""
        return [name for name in RetrieverName if name in self.retrievers or name in self.remote]


def stock_at_build(bundle: Bundle) -> Mask | None:
    """bool [n_items] as the catalogue said, None where everything was available."""
    if not bundle.has(layout.AVAILABLE):
        return None
    mask: Mask = np.asarray(bundle.array(layout.AVAILABLE))
    return None if bool(mask.all()) else mask


def open_engine(root: Path, *, version: str | None = None) -> Engine:
    """Open, verify and warm a bundle; slow, so never on the request path.

    Args:
        root: folder of bundles.
        version: which one; None = its CURRENT.

    Raises:
        BundleError: it is absent or does not verify, or cannot serve `popular`.
    """
    bundle = Bundle.open(root, version=version)
    names = available(bundle)
    if RetrieverName.POPULAR not in names:
        raise BundleError(
            f"bundle {bundle.version}",
            found="no popularity artifacts",
            expected="what the last resort, `popular`, needs",
            remedy="Run the popularity job: shortlist job --help.",
        )
    engine = Engine(
        bundle,
        {name: open_retriever(bundle, name) for name in names if name not in REMOTE},
        REMOTE.intersection(names),
        FilterIndex(bundle),
        Catalogue(bundle),
        BuildStock(stock_at_build(bundle)),
    )
    warm(engine)
    return engine


def _busiest(bundle: Bundle) -> Items:
    order = bundle.array(layout.POPULAR_ORDER)[:2]
    return np.asarray(order, np.int32)


def warm(engine: Engine) -> None:
    """Run every path once, so that compilation, page faults and lazy loading happen before the first request."""
    history = _busiest(engine.bundle)
    n_items = engine.bundle.n_items
    everything = Eligible(n_items)
    half = Eligible(n_items, np.arange(n_items) % 2 == 0, np.sort(history))
    one = Eligible(n_items, np.arange(n_items) == 0, few=np.zeros(1, np.int32))
    engine.filters.mask(Filter(("",), ("",), 0.0))  # reads the tables of names
    taken = take_exclusions(WARM_BODY)
    if taken is not None:
        engine.bundle.ids.at(taken.ids)
    for name, retriever in engine.retrievers.items():
        for _ in range(WARM_ROUNDS):
            for query in (
                Query(history, WARM_K, everything),
                Query(history[:1], WARM_K, half),
                Query(history, WARM_K, one),
                Query(NO_ITEMS, WARM_K, everything),
            ):
                retriever.retrieve(query)
        log.debug("warm", retriever=name.value, bundle=engine.version)
