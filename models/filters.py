"""From a request's filter, stock and exclusions to the items that may be returned."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from models.bundle import layout
from models.bundle.reader import Bundle
from models.graph import Offsets, row_offsets
from models.kernels import read_only
from models.retrieval import NO_ITEMS, Eligible, Items

Mask = npt.NDArray[np.bool_]

CACHED_MASK_BYTES = 32 * 2**20
FEW = 32
"""A filter that keeps at most one item in so many has these listed, too: an eighth more than its mask."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions on the catalogue; all of them hold. An item that lacks the field does not match.

    Attributes:
        brand: any of these (trimmed text); empty = any brand or none.
        category: any of these names at any level of any path; empty = any.
        price_gte: lowest price, inclusive.
        price_lte: highest price, inclusive.
    """

    brand: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    price_gte: float | None = None
    price_lte: float | None = None

    def is_empty(self) -> bool:
        """Whether every item matches."""
        return not self.brand and not self.category and not self.is_priced()

    def is_priced(self) -> bool:
        """Whether only items with a price in some range match."""
        return self.price_gte is not None or self.price_lte is not None


class Kept(NamedTuple):
    """What a rule keeps of a catalogue; read-only arrays.

    Attributes:
        mask: bool [n_items], or None = everything.
        few: int32, ascending, the same items, where they are few; else None.
    """

    mask: Mask | None = None
    few: Items | None = None

    def within(self, mask: Mask | None) -> "Kept":
        """What another rule keeps of it; None keeps all."""
        few = self.few if self.few is None or mask is None else self.few[mask[self.few]]
        return Kept(both(self.mask, mask), few)


def _listed(mask: Mask) -> Kept:
    if np.count_nonzero(mask) * FEW > len(mask):
        return Kept(read_only(mask))
    return Kept(read_only(mask), read_only(np.flatnonzero(mask).astype(np.int32)))


def _mask_of(items: Items, n_items: int) -> Mask:
    mask = np.zeros(n_items, np.bool_)
    mask[items] = True
    return mask


@dataclass(frozen=True, slots=True)
class _Postings:
    """Items by code: those of code c lie at offsets[c]:offsets[c + 1]."""

    codes: dict[str, int]
    offsets: Offsets
    items: Items

    def of(self, names: Sequence[str]) -> Items:
        """Items of any of some names, in any order, maybe with repeats."""
        codes = [self.codes[name.strip()] for name in names if name.strip() in self.codes]
        return np.concatenate([NO_ITEMS, *(self.items[self.offsets[code] : self.offsets[code + 1]] for code in codes)])


def _postings(names: list[str], codes: npt.NDArray[np.int32], items: Items) -> _Postings:
    order = np.argsort(codes, kind="stable")
    return _Postings({name: code for code, name in enumerate(names)}, row_offsets(codes, len(names)), items[order])


class FilterIndex:
    """Filters over one bundle; masks of recent filters are kept (32 MiB of them at most, and at least one).

    Attributes:
        on_look: told of each mask that is asked for, whether it was kept.
    """

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._masks: OrderedDict[Filter, Kept] = OrderedDict()
        self._room = max(1, CACHED_MASK_BYTES // bundle.n_items)
        self._lock = Lock()
        self.on_look: Callable[[bool], None] = lambda _: None

    @cached_property
    def _brands(self) -> _Postings:
        if not (self._bundle.has(layout.BRAND_CODES) and self._bundle.has(layout.BRANDS)):
            return _postings([], np.empty(0, np.int32), np.empty(0, np.int32))
        codes = self._bundle.array(layout.BRAND_CODES)
        branded = np.flatnonzero(codes >= 0).astype(np.int32)
        return _postings(self._bundle.table(layout.BRANDS)["brand"].to_pylist(), codes[branded], branded)

    @cached_property
    def _categories(self) -> _Postings:
        if not (self._bundle.has(layout.CATEGORY_CODES) and self._bundle.has(layout.CATEGORIES)):
            return _postings([], np.empty(0, np.int32), np.empty(0, np.int32))
        per_item = np.diff(self._bundle.array(layout.CATEGORY_OFFSETS))
        items = np.repeat(np.arange(self._bundle.n_items, dtype=np.int32), per_item)
        names = self._bundle.table(layout.CATEGORIES)["category"].to_pylist()
        return _postings(names, self._bundle.array(layout.CATEGORY_CODES), items)

    @cached_property
    def _prices(self) -> npt.NDArray[np.float64]:
        if not self._bundle.has(layout.PRICES):
            return np.broadcast_to(np.float64(np.nan), self._bundle.n_items)
        return self._bundle.array(layout.PRICES)

    def _of_price(self, wanted: Filter, items: Items | slice) -> Mask:
        """bool [items]: which of some items have a price in the range."""
        prices = self._prices[items]
        low = -np.inf if wanted.price_gte is None else wanted.price_gte
        high = np.inf if wanted.price_lte is None else wanted.price_lte
        mask: Mask = (prices >= low) & (prices <= high)
        return mask

    def _compute(self, wanted: Filter) -> Kept:
        """From the shortest list of items where that is short, so that no step looks at the whole catalogue."""
        n_items, named = self._bundle.n_items, []
        if wanted.brand:
            named.append(self._brands.of(wanted.brand))
        if wanted.category:
            named.append(self._categories.of(wanted.category))
        named.sort(key=len)
        if named and len(named[0]) * FEW <= n_items:
            few = known_once(named[0])
            for items in named[1:]:
                few = few[_mask_of(items, n_items)[few]]
            if wanted.is_priced():
                few = few[self._of_price(wanted, few)]
            return Kept(*map(read_only, (_mask_of(few, n_items), few)))
        mask = self._of_price(wanted, slice(None)) if wanted.is_priced() else np.ones(n_items, np.bool_)
        for items in named:
            mask &= _mask_of(items, n_items)
        return _listed(mask)

    def mask(self, wanted: Filter) -> Mask | None:
        """bool [n_items], read-only: which items match; None where all do."""
        return self.kept(wanted).mask

    def kept(self, wanted: Filter) -> Kept:
        """Likewise, and where few items match, which."""
        if wanted.is_empty():
            return Kept()
        with self._lock:
            kept = self._masks.get(wanted)
            self.on_look(kept is not None)
            if kept is None:
                kept = self._masks[wanted] = self._compute(wanted)
            self._masks.move_to_end(wanted)
            while len(self._masks) > self._room:
                self._masks.popitem(last=False)
            return kept


def filter_mask(bundle: Bundle, wanted: Filter) -> Mask | None:
    """bool [n_items], read-only: which items match; None where all do. For many filters keep a `FilterIndex`."""
    return FilterIndex(bundle).mask(wanted)


def both(first: Mask | None, second: Mask | None) -> Mask | None:
    """Items that two masks allow; None allows all."""
    if first is None or second is None:
        return second if first is None else first
    return first & second


def known_once(items: Items) -> Items:
    """int32, ascending, read-only: the item indices among some, unknown ones (-1) and repeats left out.

    >>> known_once(np.array([5, -1, 2, 5], np.int32)).tolist()
    [2, 5]
    """
    ordered = np.sort(items)
    keep = ordered >= 0
    keep[1:] &= ordered[1:] != ordered[:-1]
    known: Items = ordered[keep].astype(np.int32, copy=False)
    known.flags.writeable = False
    return known


def eligible(n_items: int, mask: Mask | None, blocked: Items) -> Eligible:
    """What may be returned, given seen and excluded items in any order, repeats and unknown ones (-1) among them."""
    return Eligible(n_items, mask, known_once(blocked))
