"""Prefix trie over semantic IDs, numbered breadth-first over the sorted IDs.

With the IDs sorted, the nodes of a level (distinct prefixes of one length) are numbered in sorted order, so the
children of a node are a contiguous range of the next level and its leaves a contiguous range of ranks (positions in
the sorted order). Two small arrays a level say all: where each node's children start, and the code of each node.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
import numpy.typing as npt

from models.errors import InputError

Int32s = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Level:
    """One level of the trie: `n` nodes below `m` nodes of the level above (the root above the first level).

    Attributes:
        starts: int32 [m + 1]; the children of node p of the level above are the nodes starts[p] to starts[p + 1] - 1.
        codes: int32 [n]; the last code of each node's prefix, ascending among siblings.
        leaves: int32 [n + 1], derived; the leaves under node v have the ranks leaves[v] to leaves[v + 1] - 1.
    """

    starts: Int32s
    codes: Int32s
    leaves: Int32s


@dataclass(frozen=True, slots=True)
class Trie:
    """All semantic IDs of a catalogue.

    Attributes:
        levels: one entry a code level; the nodes of the last level are the items, in sorted order.
        items: int32 [n_items]: item index at each rank.
        codebooks: number of codes at each level, as wide as the generator's heads.
    """

    levels: tuple[Level, ...]
    items: Int32s
    codebooks: tuple[int, ...]

    @classmethod
    def build(cls, codes: Int32s, codebooks: tuple[int, ...]) -> Self:
        """The trie of int32 [n_items, L] unique codes, each below its level's codebook size.

        Raises:
            InputError: two items share an ID, or a code lies outside its codebook.
        """
        _check_range(codes, codebooks)
        order = np.lexsort(codes.T[::-1]).astype(np.int32)
        opens = _opening_ranks(codes[order])
        starts = [_places(below, above) for above, below in pairwise(opens)]
        last_codes = [codes[order[here], level] for level, here in enumerate(opens[1:])]
        return cls(_with_leaves(starts, last_codes), order, codebooks)

    @classmethod
    def load(cls, starts: Int32s, codes: Int32s, items: Int32s, codebooks: tuple[int, ...]) -> Self:
        """The trie from the arrays that `stored` gave."""
        per_level_starts, per_level_codes, above = [], [], 1
        for _ in codebooks:
            here, starts = starts[: above + 1], starts[above + 1 :]
            above = int(here[-1])
            per_level_starts.append(here)
            per_level_codes.append(codes[:above])
            codes = codes[above:]
        return cls(_with_leaves(per_level_starts, per_level_codes), items, codebooks)

    def stored(self) -> tuple[Int32s, Int32s]:
        """Starts and codes of all levels, one level after another: each level's starts end with the next one's size."""
        return np.concatenate([level.starts for level in self.levels]), np.concatenate([lv.codes for lv in self.levels])

    @property
    def n_items(self) -> int:
        """Catalogue size."""
        return len(self.items)


def _check_range(codes: Int32s, codebooks: tuple[int, ...]) -> None:
    if codes.ndim != 2 or codes.shape[1] != len(codebooks) or not len(codes):
        raise InputError(
            "semantic IDs",
            found=f"an array of shape {codes.shape}",
            expected=f"[n_items >= 1, {len(codebooks)}]",
            remedy="Build the codes again.",
        )
    wrong = np.argwhere((codes < 0) | (codes >= np.asarray(codebooks)))
    if len(wrong):
        item, level = wrong[0].tolist()
        raise InputError(
            f"semantic ID of item {item}, level {level}",
            found=str(codes[item, level]),
            expected=f"0 to {codebooks[level] - 1}",
            remedy="Build the codes again.",
        )


def _opening_ranks(ordered: Int32s) -> list[npt.NDArray[np.int64]]:
    """For prefixes of length 0 to L: the ranks at which a new prefix starts."""
    new = np.zeros(len(ordered), np.bool_)
    new[0] = True
    opens = [np.flatnonzero(new)]
    for column in ordered.T:
        new[1:] |= column[1:] != column[:-1]
        opens.append(np.flatnonzero(new))
    if not new.all():
        rank = int(np.flatnonzero(~new)[0])
        raise InputError(
            "semantic IDs",
            found=f"the ID {ordered[rank].tolist()} twice",
            expected="one item an ID",
            remedy="Make IDs unique with a last code (models.neural.semantic_ids.with_unique_code).",
        )
    return opens


def _places(below: npt.NDArray[np.int64], above: npt.NDArray[np.int64]) -> Int32s:
    return np.append(np.searchsorted(below, above), len(below)).astype(np.int32)


def _with_leaves(starts: Sequence[Int32s], codes: Sequence[Int32s]) -> tuple[Level, ...]:
    """Levels with the leaf ranges, composed from the last level upwards."""
    leaves = np.arange(len(codes[-1]) + 1, dtype=np.int32)
    levels: list[Level] = []
    for level_starts, level_codes in zip(reversed(starts), reversed(codes), strict=True):
        levels.append(Level(level_starts, np.ascontiguousarray(level_codes, np.int32), leaves))
        leaves = leaves[level_starts]
    return tuple(reversed(levels))
