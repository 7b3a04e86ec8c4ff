"""Item ids: where external strings and internal indices meet.

The index of an item is the order of its id's UTF-8 bytes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt
import xxhash

from models.errors import InputError
from models.kernels import compiled, read_only
from models.prefetch import prefetch
from models.retrieval import Items
from models.xxh64 import xxh64

UNKNOWN = -1
SLOT_BYTES = 4
A_FEW = 24
"""Ids that are found faster one by one than all at once."""

Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int64]


class Cut(NamedTuple):
    """Ids as stretches of one text: the first is text[begins[0]:ends[0]].

    Attributes:
        text: uint8, UTF-8.
        begins, ends: int64 [n].
    """

    text: Bytes
    begins: Offsets
    ends: Offsets


def cut(ids: Sequence[str]) -> Cut:
    """Ids one after another. A lone surrogate becomes bytes that no id has."""
    text = "".join(ids)
    if text.isascii():
        joined, lengths = text.encode(), map(len, ids)
    else:
        encoded = [one.encode("utf-8", "surrogatepass") for one in ids]
        joined, lengths = b"".join(encoded), map(len, encoded)
    offsets = np.zeros(len(ids) + 1, np.int64)
    np.cumsum(np.fromiter(lengths, np.int64, len(ids)), out=offsets[1:])
    offsets.flags.writeable = False
    return Cut(np.frombuffer(joined, np.uint8), offsets[:-1], offsets[1:])


@compiled
def _is_same(data: Bytes, start: int, text: Bytes, begin: int, length: int) -> bool:
    for place in range(length):  # noqa: SIM110 - generators do not compile
        if data[start + place] != text[begin + place]:
            return False
    return True


@compiled
def _find(
    data: Bytes, offsets: Offsets, slots: Items, text: Bytes, begins: Offsets, ends: Offsets, found: Items
) -> None:
    """Hash all, so that their slots are at hand when they are looked at."""
    mask, places = len(slots) - 1, np.empty(len(begins), np.int64)
    for row in range(len(begins)):
        places[row] = np.int64(xxh64(text, begins[row], ends[row]) & np.uint64(mask))
        prefetch(slots, places[row], SLOT_BYTES)
    for row in range(len(begins)):
        begin, length, place = begins[row], ends[row] - begins[row], places[row]
        item = slots[place]
        while item != UNKNOWN:
            start = offsets[item]
            if offsets[item + 1] - start == length and _is_same(data, start, text, begin, length):
                break
            place = (place + 1) & mask
            item = slots[place]
        found[row] = item


def _place(hashes: npt.NDArray[np.uint64], n_slots: int) -> Items:
    """Linear probing, all ids a round: who finds its slot taken moves one on; the lowest index wins a free slot."""
    slots = np.full(n_slots, UNKNOWN, np.int32)
    waiting = np.arange(len(hashes), dtype=np.int32)
    place = (hashes & np.uint64(n_slots - 1)).astype(np.int64)
    while len(waiting):
        wanted, first = np.unique(place, return_index=True)
        free = slots[wanted] == UNKNOWN
        slots[wanted[free]] = waiting[first[free]]
        homeless = slots[place] != waiting
        waiting, place = waiting[homeless], (place[homeless] + 1) & (n_slots - 1)
    return slots


def _first_repeat(ordered: list[bytes]) -> bytes | None:
    return next((a for a, b in pairwise(ordered) if a == b), None)


def _refuse(found: str) -> InputError:
    return InputError(
        "item ids",
        found=found,
        expected="unique, non-empty strings that UTF-8 can hold",
        remedy="Correct the ids of the catalogue.",
    )


def _encode(item_id: str) -> bytes:
    try:
        return item_id.encode()
    except UnicodeEncodeError as error:
        raise _refuse(f"{item_id!r}, which UTF-8 cannot hold") from error


@dataclass(frozen=True)
class ItemIds:
    """All ids of a catalogue and a hash table over them; every array may be memory-mapped.

    >>> ids = ItemIds.from_strings(["B2", "007", "7"])
    >>> [ids.id(i) for i in range(len(ids))], ids.index("7"), ids.index("7.0")
    (['007', '7', 'B2'], 1, -1)

    Attributes:
        data: uint8, the ids' UTF-8 bytes one after another.
        offsets: int64 [n + 1], where each id starts in `data`.
        slots: int32 [power of two], open-addressing table from xxhash64 of the id to its index, -1 = empty.
    """

    data: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]
    slots: Items

    @classmethod
    def from_strings(cls, ids: Sequence[str]) -> Self:
        """Ids in any order.

        Raises:
            InputError: an id is empty, repeated, or holds a lone surrogate.
        """
        encoded = sorted(map(_encode, ids))
        repeat = _first_repeat(encoded)
        if repeat is not None or (encoded and not encoded[0]):
            raise _refuse("an empty id" if repeat is None or not encoded[0] else f"{repeat.decode()!r} twice")
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(one) for one in encoded], out=offsets[1:])
        hashes = np.fromiter(map(xxhash.xxh64_intdigest, encoded), np.uint64, len(encoded))
        n_slots = 1 << max(1, (2 * len(encoded) - 1).bit_length())
        return cls(np.frombuffer(b"".join(encoded), np.uint8), offsets, _place(hashes, n_slots))

    @cached_property
    def _views(self) -> tuple[memoryview, memoryview, memoryview]:
        """Scalars out of a memoryview cost a third of scalars out of an array."""
        return self.data.data, self.offsets.data, self.slots.data

    def __len__(self) -> int:
        """Catalogue size."""
        return len(self.offsets) - 1

    def id(self, index: int) -> str:
        """The id of an item index.

        Raises:
            IndexError: there is no such index.
        """
        if not 0 <= index < len(self):
            raise IndexError(f"item index {index} of {len(self)} items")
        return self._decode(index)

    def _decode(self, index: int) -> str:
        data, offsets, _ = self._views
        return str(data[offsets[index] : offsets[index + 1]], "utf-8")

    def index(self, item_id: str) -> int:
        """The item index of an id, -1 where the catalogue lacks it."""
        return self.find((item_id,))[0]

    def find(self, ids: Sequence[str]) -> list[int]:
        """The item index of each id, -1 where unknown."""
        return self._each(ids) if len(ids) <= A_FEW else self.indices(ids).tolist()

    def _each(self, ids: Sequence[str]) -> list[int]:
        data, offsets, slots = self._views
        mask, digest = len(slots) - 1, xxhash.xxh64_intdigest
        indices = []
        for item_id in ids:
            try:
                key = item_id.encode()
            except UnicodeEncodeError:
                indices.append(UNKNOWN)
                continue
            place = digest(key) & mask
            while (found := slots[place]) != UNKNOWN and data[offsets[found] : offsets[found + 1]] != key:
                place = (place + 1) & mask
            indices.append(found)
        return indices

    def indices(self, ids: Sequence[str]) -> Items:
        """int32 [len(ids)]: the item index of each id, -1 where unknown."""
        return self.at(cut(ids))

    def at(self, ids: Cut) -> Items:
        """int32 [n]: likewise, of ids that are bytes already."""
        found: Items = np.empty(len(ids.begins), np.int32)
        _find(read_only(self.data), read_only(self.offsets), read_only(self.slots), *ids, found)
        return found

    def strings(self, items: Items) -> list[str]:
        """The ids of item indices, each of which must exist."""
        return [self._decode(index) for index in items.tolist()]
