"""The items of an answer as JSON, written by one kernel straight from the catalogue's ids.

Fifty dictionaries an answer cost more than retrieval does, and texts kept for each item cost memory and cache misses.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from models.ids import ItemIds
from models.kernels import compiled, inlined, read_only
from models.retrieval import Candidates, Items
from models.words import SOURCES

DECIMALS = 6
"""Of a score; float32 holds about seven digits."""
LARGEST = 1e9
"""Scores beyond it are a fault; cosines, weights, ranks and sums of log-softmax are far below."""

Text = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


def _text(value: str) -> Text:
    return np.frombuffer(value.encode(), np.uint8)


_HEAD, _RANK, _SCORE, _SOURCE, _TAIL = map(_text, ('{"item_id":"', '","rank":', ',"score":', ',"source":"', '"},'))
_HEX = _text("0123456789abcdef")
_NAMES = _text("".join(SOURCES))
_NAME_ENDS = np.cumsum([0, *(len(source) for source in SOURCES)])
_NUMBER_BYTES = 18
"""Of a score or a rank at most."""
_ESCAPED_BYTES = 6
"""Of one byte of an id at most."""
_ROW_BYTES = sum(map(len, (_HEAD, _RANK, _SCORE, _SOURCE, _TAIL))) + max(map(len, SOURCES)) + 2 * _NUMBER_BYTES
_SCALE = 10**DECIMALS
_QUOTE, _BACKSLASH, _CONTROLS = ord('"'), ord("\\"), ord(" ")
_MINUS, _POINT, _ZERO = ord("-"), ord("."), ord("0")


@inlined
def _copy(text: Text, begin: int, end: int, out: Text, n: int) -> int:
    for place in range(begin, end):
        out[n] = text[place]
        n += 1
    return n


@compiled
def _escape(byte: int, out: Text, n: int) -> int:
    """A byte that JSON texts cannot hold as it is; the new length."""
    out[n] = _BACKSLASH
    if byte >= _CONTROLS:
        out[n + 1] = byte
        return n + 2
    out[n + 1], out[n + 2], out[n + 3] = ord("u"), _ZERO, _ZERO
    out[n + 4], out[n + 5] = _HEX[byte >> 4], _HEX[byte & 15]
    return n + 6


@compiled
def _digits(number: int, least: int, out: Text, n: int) -> int:
    """At least so many decimal digits; the new length."""
    length, rest = least, number // 10**least
    while rest:
        length, rest = length + 1, rest // 10
    for place in range(n + length - 1, n - 1, -1):
        out[place] = _ZERO + number % 10
        number //= 10
    return n + length


@compiled
def _score(score: float, out: Text, n: int) -> int:
    """A number with one to six decimals; the new length."""
    if not abs(score) <= LARGEST:
        raise ValueError("a score is not finite, or beyond what scores can be")
    scaled = np.int64(np.rint(score * _SCALE))
    if scaled < 0:
        out[n] = _MINUS
        n, scaled = n + 1, -scaled
    n = _digits(scaled // _SCALE, 1, out, n)
    out[n] = _POINT
    end = _digits(scaled % _SCALE, DECIMALS, out, n + 1)
    while out[end - 1] == _ZERO and end > n + 2:
        end -= 1
    return end


@inlined
def _id(data: Text, begin: int, end: int, out: Text, n: int) -> int:
    for place in range(begin, end):
        byte = data[place]
        if byte < _CONTROLS or byte in (_QUOTE, _BACKSLASH):
            n = _escape(byte, out, n)
        else:
            out[n] = byte
            n += 1
    return n


@compiled
def _room(offsets: Offsets, items: Items, row_bytes: int) -> Text:
    """Room for a list whose rows have so many bytes besides the ids."""
    room = 2
    for item in items:
        room += row_bytes + _ESCAPED_BYTES * (offsets[item + 1] - offsets[item])
    out = np.empty(room, np.uint8)
    out[0] = ord("[")
    return out


@compiled
def _ended(out: Text, n: int) -> Text:
    """The list: its end stands where the last row's comma is."""
    out[max(n - 1, 1)] = ord("]")
    return out[: max(n, 2)]


@compiled
def _write_ids(data: Text, offsets: Offsets, items: Items) -> Text:
    out, n = _room(offsets, items, 3), 1
    for item in items:
        out[n] = _QUOTE
        n = _id(data, offsets[item], offsets[item + 1], out, n + 1)
        out[n], out[n + 1] = _QUOTE, ord(",")
        n += 2
    return _ended(out, n)


@compiled
def _write(data: Text, offsets: Offsets, items: Items, scores: Floats, sources: Text) -> Text:
    out, n = _room(offsets, items, _ROW_BYTES), 1
    for rank, item in enumerate(items):
        n = _copy(_HEAD, 0, len(_HEAD), out, n)
        n = _id(data, offsets[item], offsets[item + 1], out, n)
        n = _copy(_RANK, 0, len(_RANK), out, n)
        n = _digits(rank + 1, 1, out, n)
        n = _copy(_SCORE, 0, len(_SCORE), out, n)
        n = _score(np.float64(scores[rank]), out, n)
        n = _copy(_SOURCE, 0, len(_SOURCE), out, n)
        n = _copy(_NAMES, _NAME_ENDS[sources[rank]], _NAME_ENDS[sources[rank] + 1], out, n)
        n = _copy(_TAIL, 0, len(_TAIL), out, n)
    return _ended(out, n)


def _own(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array as the kernel was compiled for it."""
    return array if array.flags.carray else array.copy()


class ItemRows:
    """Writes lists of items.

    >>> rows = ItemRows(ItemIds.from_strings(["b", "a"]))
    >>> found = Candidates(np.array([1, 0], np.int32), np.array([0.5, -2], np.float32), np.array([0, 8], np.uint8))
    >>> bytes(rows.json(found)).decode()
    '[{"item_id":"b","rank":1,"score":0.5,"source":"hop1"},{"item_id":"a","rank":2,"score":-2.0,"source":"popular"}]'

    Args:
        ids: all ids.
    """

    def __init__(self, ids: ItemIds) -> None:
        self._data, self._offsets = read_only(ids.data), read_only(ids.offsets)
        nothing = Candidates(np.empty(0, np.int32), np.empty(0, np.float32), np.empty(0, np.uint8))
        for compiled_at_first_use in (self.json, self.ids_json):
            compiled_at_first_use(nothing)

    def ids_json(self, candidates: Candidates) -> bytes:
        """The ids of the list as a JSON array."""
        return _write_ids(self._data, self._offsets, _own(candidates.items)).tobytes()

    def json(self, candidates: Candidates) -> bytes:
        """The list as a JSON array of `item_id`, `rank`, `score`, `source`.

        Raises:
            ValueError: a score is not finite.
        """
        items, scores, sources = _own(candidates.items), _own(candidates.scores), _own(candidates.sources)
        return _write(self._data, self._offsets, items, scores, sources).tobytes()
