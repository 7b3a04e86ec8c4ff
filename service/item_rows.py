"""The items of an answer as JSON, put together from pieces.

Fifty dictionaries an answer cost more than retrieval does. Everything of a row but its score is one of few texts, so
rows are joined from texts that are kept; orjson writes each text once and all scores of a list in one call.
"""

import numpy as np
import orjson

from models.ids import ItemIds
from models.retrieval import Candidates
from models.words import SOURCES

DECIMALS = 6
"""Of a score; float32 holds about seven digits."""
MOST_KEPT = 65_536
"""Heads kept, some 8 MB; beyond it the memory starts anew, so that it never grows with the catalogue."""
PIECES = 4
"""Of a row: head, rank, score, tail."""

_RANKS = [b'%d,"score":' % rank for rank in range(1, 1001)]
_TAILS = [b',"source":%b},' % orjson.dumps(source.value) for source in SOURCES]


def _ranks(n: int) -> list[bytes]:
    if n > len(_RANKS):
        _RANKS.extend(b'%d,"score":' % rank for rank in range(len(_RANKS) + 1, n + 1))
    return _RANKS[:n]


class ItemRows(dict[int, bytes]):
    """Item index to the head of its row.

    >>> rows = ItemRows(ItemIds.from_strings(["b", "a"]))
    >>> found = Candidates(np.array([1, 0], np.int32), np.array([0.5, 0.25], np.float32), np.array([0, 8], np.uint8))
    >>> rows.json(found).decode()
    '[{"item_id":"b","rank":1,"score":0.5,"source":"hop1"},{"item_id":"a","rank":2,"score":0.25,"source":"popular"}]'

    Args:
        ids: all ids.
    """

    def __init__(self, ids: ItemIds) -> None:
        super().__init__()
        self._ids = ids

    def __missing__(self, index: int) -> bytes:
        """Write, and remember."""
        if len(self) >= MOST_KEPT:
            self.clear()
        head = self[index] = b'{"item_id":%b,"rank":' % orjson.dumps(self._ids.id(index))
        return head

    def ids(self, candidates: Candidates) -> list[str]:
        """The ids of the list."""
        return self._ids.strings(candidates.items)

    def json(self, candidates: Candidates) -> bytes:
        """The list as a JSON array of `item_id`, `rank`, `score`, `source`."""
        n = len(candidates.items)
        if not n:
            return b"[]"
        scores = orjson.dumps(candidates.scores.astype(np.float64).round(DECIMALS), option=orjson.OPT_SERIALIZE_NUMPY)
        pieces: list[bytes] = [b""] * (PIECES * n)
        pieces[0::PIECES] = [self[index] for index in candidates.items.tolist()]
        pieces[1::PIECES] = _ranks(n)
        pieces[2::PIECES] = scores[1:-1].split(b",")
        pieces[3::PIECES] = [_TAILS[source] for source in candidates.sources.tolist()]
        return b"[%b]" % b"".join(pieces)[:-1]
