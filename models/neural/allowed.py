"""Which leaves of a trie may be returned, as a bitmap over ranks whose set bits are counted in constant time."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from models.kernels import compiled
from models.neural.trie import Int32s, Trie
from models.sorted_search import lower_bound

Words = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class RankBitmap:
    """The rule shared by many requests (stock, a filter): bits over ranks with running counts.

    Attributes:
        words: uint64 [n / 64 + 1]; bit r % 64 of word r / 64 is set where the leaf of rank r may be returned.
        before: int32, same length: set bits before each word.
    """

    words: Words
    before: Int32s

    @classmethod
    def of(cls, mask_by_rank: npt.NDArray[np.bool_]) -> Self:
        """The bitmap of bool [n] by rank."""
        padded = np.zeros((len(mask_by_rank) // 64 + 1) * 64, np.bool_)
        padded[: len(mask_by_rank)] = mask_by_rank
        words = np.packbits(padded, bitorder="little").view("<u8").astype(np.uint64, copy=False)
        before = np.zeros(len(words), np.int32)
        np.cumsum(np.bitwise_count(words[:-1]), out=before[1:], dtype=np.int32)
        return cls(words, before)


@dataclass(frozen=True, slots=True)
class Allowed:
    """What one request may return: the shared bitmap minus the request's own exclusions.

    Attributes:
        bitmap: the shared rule.
        blocked: int32, sorted, unique: ranks that the bitmap allows and this request excludes.
    """

    bitmap: RankBitmap
    blocked: Int32s

    @classmethod
    def of(cls, trie: Trie, mask: npt.NDArray[np.bool_] | None, blocked_items: Int32s, ranks: Int32s) -> Self:
        """From a mask over items (None = all), excluded items and int32 [n_items] ranks by item."""
        by_rank = np.ones(trie.n_items, np.bool_) if mask is None else mask[trie.items]
        return cls.within(RankBitmap.of(by_rank), ranks[blocked_items])

    @classmethod
    def within(cls, bitmap: RankBitmap, blocked_ranks: Int32s) -> Self:
        """From a bitmap built before and the ranks that this request excludes."""
        bits = bitmap.words[blocked_ranks >> 6] >> (blocked_ranks & 63).astype(np.uint64)
        return cls(bitmap, np.unique(blocked_ranks[(bits & np.uint64(1)).astype(np.bool_)]))


@compiled
def set_bits(word: np.uint64) -> np.int64:
    """Number of set bits."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@compiled
def count_before(words: Words, before: Int32s, rank: int) -> np.int64:
    """Allowed leaves among the ranks below `rank`."""
    place = rank >> 6
    below = words[place] & ((np.uint64(1) << np.uint64(rank & 63)) - np.uint64(1))
    return np.int64(before[place]) + set_bits(below)


@compiled
def any_allowed(words: Words, before: Int32s, blocked: Int32s, first: int, end: int) -> bool:
    """Whether a leaf of rank first to end - 1 is allowed."""
    count = count_before(words, before, end) - count_before(words, before, first)
    if count == 0 or len(blocked) == 0:
        return bool(count > 0)
    place = lower_bound(blocked, 0, len(blocked), first)
    while place < len(blocked) and blocked[place] < end:
        count, place = count - 1, place + 1
    return bool(count > 0)
