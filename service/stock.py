"""Which items may be sold now: the bundle's data under the overrides that operators set.

Overrides live in a replicated table (`service.redis.replica`), so a flip reaches every process within milliseconds,
outlives restarts and bundle swaps, and holds while Redis is away. An override yields only to bundle data that is
newer than it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from weakref import WeakSet

import numpy as np
import numpy.typing as npt
import orjson

from models.bundle.layout import AVAILABLE
from models.bundle.reader import Bundle
from service.redis.link import RedisLink
from service.redis.replica import Changes, Replica

TABLE = "stock"
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Override:
    """What an operator said of one item."""

    available: bool
    at: datetime

    def encode(self) -> bytes:
        """As stored."""
        return orjson.dumps({"available": self.available, "at": self.at})

    @staticmethod
    def decode(stored: bytes) -> "Override":
        """From what `encode` wrote."""
        fields = orjson.loads(stored)
        return Override(bool(fields["available"]), datetime.fromisoformat(fields["at"]))


class Stock:
    """The overrides, as this process knows them."""

    def __init__(self, link: RedisLink) -> None:
        self.table = Replica(link, TABLE)
        self.overrides: dict[str, Override] = {}
        self._views: WeakSet[StockView] = WeakSet()
        self.table.on_change.append(self._changed)

    async def set_available(self, flips: Mapping[str, bool]) -> int:
        """Write overrides; this process obeys them when it returns, the others a few milliseconds later.

        Returns:
            The revision that the flips carry.

        Raises:
            RedisDownError: nothing was acknowledged.
        """
        now = datetime.now(UTC)
        return await self.table.put({item_id: Override(flag, now).encode() for item_id, flag in flips.items()})

    def view(self, bundle: Bundle) -> "StockView":
        """A mask over one bundle's items that follows every flip for as long as somebody holds it."""
        view = StockView(bundle, self)
        self._views.add(view)
        return view

    def is_mask(self, mask: Mask) -> bool:
        """Whether a mask is the stock of a bundle and nothing else."""
        return any(view.mask is mask for view in list(self._views))

    def _changed(self, changes: Changes) -> None:
        for item_id, stored in changes.items():
            if stored is None:
                self.overrides.pop(item_id, None)
            else:
                self.overrides[item_id] = Override.decode(stored)
        for view in list(self._views):
            view.apply(changes)


class StockView:
    """Stock over one bundle. `mask` is None while every item may be sold, else bool [n_items], never written to.

    An override yields to the bundle only where the manifest says (section `stock`, `as_of`) that its stock is newer.
    """

    def __init__(self, bundle: Bundle, stock: Stock) -> None:
        self._ids, self._overrides = bundle.ids, stock.overrides
        self._base = _stated(bundle)
        self._as_of = _as_of(bundle)
        self.mask: Mask | None = None
        self._take_over(self._base.copy(), stock.overrides)

    def apply(self, item_ids: Iterable[str]) -> None:
        """Take over the overrides of these items."""
        self._take_over(np.ones(len(self._base), np.bool_) if self.mask is None else self.mask.copy(), item_ids)

    def _take_over(self, fresh: Mask, item_ids: Iterable[str]) -> None:
        for item_id in item_ids:
            if (index := self._ids.index(item_id)) >= 0:
                fresh[index] = self._answer(item_id, index)
        fresh.flags.writeable = False
        self.mask = None if fresh.all() else fresh

    def _answer(self, item_id: str, index: int) -> bool:
        override = self._overrides.get(item_id)
        if override is None or (self._as_of is not None and override.at < self._as_of):
            return bool(self._base[index])
        return override.available


def _stated(bundle: Bundle) -> Mask:
    if not bundle.has(AVAILABLE):
        return np.ones(bundle.n_items, np.bool_)
    return np.asarray(bundle.array(AVAILABLE), np.bool_)


def _as_of(bundle: Bundle) -> datetime | None:
    stated = bundle.manifest.sections.get("stock", {}).get("as_of")
    return None if stated is None else datetime.fromisoformat(stated)
