"""Item ids that were returned lately, as strings: decoding fifty of them from the map costs as much as retrieval."""

from models.ids import ItemIds
from models.retrieval import Items

MOST_KEPT = 65_536
"""Strings kept, some 6 MB; beyond it the memory starts anew, so that it never grows with the catalogue."""


class IdText(dict[int, str]):
    """Item index to id.

    >>> IdText(ItemIds.from_strings(["b", "a"]))[1]
    'b'

    Args:
        ids: all ids.
    """

    def __init__(self, ids: ItemIds) -> None:
        super().__init__()
        self._ids = ids

    def __missing__(self, index: int) -> str:
        """Decode, and remember."""
        if len(self) >= MOST_KEPT:
            self.clear()
        text = self[index] = self._ids.id(index)
        return text

    def strings(self, items: Items) -> list[str]:
        """The ids of item indices, each of which must exist."""
        return [self[index] for index in items.tolist()]
