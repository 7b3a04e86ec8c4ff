"""The catalogue for people: look one item up, search by words, see an item's neighbours."""

import base64
import binascii
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from models.bundle import layout
from models.bundle.reader import Bundle
from models.filters import Mask
from models.item_facts import COLUMNS, ITEM_ID, WORDS, item_facts
from models.retrieval import Items

MAX_WORDS = 16


@dataclass(frozen=True, slots=True)
class Page:
    """A slice of a listing.

    Attributes:
        items: item indices.
        cursor: where the next slice starts, None = there is none.
    """

    items: Items
    cursor: str | None


class CursorError(ValueError):
    """A cursor that this service did not give, or whose item is gone."""


def encode_cursor(item_id: str) -> str:
    """A cursor names the last item of a page, so it outlives a new bundle.

    >>> decode_cursor(encode_cursor("a/b"))
    'a/b'
    """
    return base64.urlsafe_b64encode(item_id.encode()).decode().rstrip("=")


def decode_cursor(cursor: str) -> str:
    """The item id in a cursor.

    Raises:
        CursorError: it is no cursor.
    """
    try:
        return base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, UnicodeError, ValueError) as error:
        raise CursorError("not a cursor of this service") from error


class Catalogue:
    """Facts of items, mapped where the bundle has them in that form, else read on first use.

    Args:
        bundle: the bundle; its file is mapped at once, so that it may be deleted from then on.
    """

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        named = (layout.ITEM_FACTS, layout.ITEM_FACTS), (layout.ITEMS, f"{layout.ITEMS}.parquet")
        found = next((file for name, file in named if bundle.has(name)), None)
        self._mapped = found == layout.ITEM_FACTS
        self._file = None if found is None else pa.memory_map(str(bundle.file(found)))

    @cached_property
    def _table(self) -> pa.Table:
        """What `item_facts` makes of the catalogue."""
        if self._mapped:
            return pa.ipc.open_file(self._file).read_all()
        if self._file is None:
            ids = self._bundle.ids.strings(np.arange(self._bundle.n_items, dtype=np.int32))
            return item_facts(pa.table({ITEM_ID: ids}))
        file = pq.ParquetFile(self._file)
        wanted = [name for name in (ITEM_ID, *COLUMNS) if name in file.schema_arrow.names]
        return item_facts(file.read(columns=wanted))

    @cached_property
    def _order(self) -> Items:
        return np.asarray(self._bundle.array(layout.POPULAR_ORDER))

    @cached_property
    def _place(self) -> Items:
        place = np.empty(len(self._order), np.int32)
        place[self._order] = np.arange(len(self._order), dtype=np.int32)
        return place

    def _matching(self, words: list[str]) -> Items:
        """Item indices that hold all words, most popular first."""
        if not words:
            return self._order
        mask = np.ones(self._bundle.n_items, np.bool_)
        for word in words:
            mask &= pc.match_substring(self._table[WORDS], word).to_numpy()
        return self._order[mask[self._order]]

    def search(self, text: str, *, cursor: str | None, limit: int) -> Page:
        """A page of the items that hold every word of the text in title, brand or id; no words = all items.

        Args:
            text: words.
            cursor: where to go on; None = the start.
            limit: items on the page.

        Raises:
            CursorError: the cursor is not one, or its item is gone.
        """
        found = self._matching(text.lower().split()[:MAX_WORDS])
        start = 0 if cursor is None else self._after(found, cursor)
        items = found[start : start + limit]
        more = start + limit < len(found)
        return Page(items, encode_cursor(self._bundle.ids.id(int(items[-1]))) if more else None)

    def _after(self, found: Items, cursor: str) -> int:
        index = self._bundle.ids.index(decode_cursor(cursor))
        if index < 0:
            raise CursorError("its item is not in the served bundle; start again without a cursor")
        if found is self._order:
            return int(self._place[index]) + 1
        return int(np.searchsorted(self._place[found], self._place[index], side="right"))

    def describe(self, items: Items, stock: Mask | None) -> list[dict[str, Any]]:
        """What is known of items, as `ItemAnswer` documents it.

        Args:
            items: item indices.
            stock: bool [n_items], what may be sold now; None = everything.
        """
        rows = self._table.drop_columns([WORDS]).take(pa.array(items)).to_pylist() or [{}] * len(items)
        ids = self._bundle.ids.strings(items)
        available = [True] * len(items) if stock is None else stock[items].tolist()
        known = zip(ids, rows, available, self._popularity(items), self._values(items), strict=True)
        return [_answer(*facts) for facts in known]

    def _popularity(self, items: Items) -> list[int | None]:
        if not self._bundle.has(layout.POPULARITY):
            return [None] * len(items)
        counts: list[int | None] = self._bundle.array(layout.POPULARITY)[items].tolist()
        return counts

    def _values(self, items: Items) -> list[dict[str, float] | None]:
        if not self._bundle.has(layout.VALUE_COMPONENTS):
            return [None] * len(items)
        rows = np.round(self._bundle.array(layout.VALUE_COMPONENTS)[items].astype(np.float64), 6).tolist()
        return [dict(zip(("popularity", "rating", "brand"), row, strict=True)) for row in rows]

    def titles(self, items: Items) -> list[str | None]:
        """Titles of items."""
        if "title" not in self._table.column_names:
            return [None] * len(items)
        titles: list[str | None] = self._table["title"].take(pa.array(items)).to_pylist()
        return titles


def _answer(
    item_id: str, row: dict[str, Any], available: bool, popularity: int | None, value: dict[str, float] | None
) -> dict[str, Any]:
    return {
        "item_id": item_id,
        "title": row.get("title"),
        "brand": row.get("brand"),
        "price": _finite(row.get("price")),
        "categories": row.get("categories") or [],
        "available": available,
        "rating_avg": _finite(row.get("rating_avg")),
        "rating_count": row.get("rating_count"),
        "popularity": popularity,
        "value": value,
    }


def _finite(number: float | None) -> float | None:
    return number if number is not None and np.isfinite(number) else None
