"""The trie holds every semantic ID once, with contiguous children and leaves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.errors import InputError
from models.neural.allowed import RankBitmap, any_allowed
from models.neural.semantic_ids import with_unique_code
from models.neural.trie import Trie

quantised = st.integers(1, 60).flatmap(
    lambda n: st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=n, max_size=n).map(
        lambda rows: np.array(rows, np.int32)
    )
)


def codebooks(codes):
    return (4, 4, 4, int(codes[:, 3].max()) + 1)


def walk(trie, depth=0, node=0, prefix=()):
    """Every (prefix, leaf ranks) pair, following starts alone."""
    if depth == len(trie.levels):
        yield prefix, (node, node + 1)
        return
    level = trie.levels[depth]
    for child in range(level.starts[node], level.starts[node + 1]):
        here = (*prefix, int(level.codes[child]))
        yield here, (int(level.leaves[child]), int(level.leaves[child + 1]))
        yield from walk(trie, depth + 1, child, here)


@given(quantised)
def test_walking_the_trie_visits_exactly_the_prefixes_that_exist(rows):
    codes = with_unique_code(rows)
    trie = Trie.build(codes, codebooks(codes))
    expected = {tuple(row[:length]) for row in codes.tolist() for length in (1, 2, 3, 4)}
    assert {prefix for prefix, _ in walk(trie)} == expected


@given(quantised)
def test_leaves_of_a_prefix_are_the_items_that_carry_it(rows):
    codes = with_unique_code(rows)
    trie = Trie.build(codes, codebooks(codes))
    for prefix, (first, end) in walk(trie):
        carrying = np.flatnonzero((codes[:, : len(prefix)] == prefix).all(axis=1))
        assert sorted(trie.items[first:end].tolist()) == carrying.tolist()


@given(quantised)
def test_storing_and_loading_gives_the_same_trie(rows):
    codes = with_unique_code(rows)
    trie = Trie.build(codes, codebooks(codes))
    loaded = Trie.load(*trie.stored(), trie.items, trie.codebooks)
    for level, again in zip(trie.levels, loaded.levels, strict=True):
        for name in ("starts", "codes", "leaves"):
            np.testing.assert_array_equal(getattr(level, name), getattr(again, name))


@given(quantised)
def test_the_last_code_makes_ids_unique_and_counts_up_in_item_order(rows):
    codes = with_unique_code(rows)
    assert len(np.unique(codes, axis=0)) == len(codes)
    for row in np.unique(rows, axis=0):
        assert codes[(rows == row).all(axis=1), 3].tolist() == list(range((rows == row).all(axis=1).sum()))


def test_equal_ids_are_refused_with_the_id():
    with pytest.raises(InputError, match=r"the ID \[1, 0\] twice"):
        Trie.build(np.array([[1, 0], [0, 0], [1, 0]], np.int32), (2, 1))


def test_a_code_outside_its_codebook_is_refused_with_item_and_level():
    with pytest.raises(InputError, match="item 1, level 0"):
        Trie.build(np.array([[1, 0], [2, 0]], np.int32), (2, 1))


@given(st.lists(st.booleans(), min_size=1, max_size=300), st.data())
@settings(deadline=None)
def test_bitmap_counts_agree_with_the_mask(mask, data):
    mask = np.array(mask)
    bitmap = RankBitmap.of(mask)
    first = data.draw(st.integers(0, len(mask) - 1))
    end = data.draw(st.integers(first + 1, len(mask)))
    blocked = np.flatnonzero(mask & (np.arange(len(mask)) % 3 == 0)).astype(np.int32)
    left = mask.copy()
    left[blocked] = False
    assert any_allowed(bitmap.words, bitmap.before, blocked, first, end) == left[first:end].any()
