"""Ragged rows: built from pairs, looked up, taken, and refused when they cannot be right."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import InputError
from offline.measures.arrays import Ragged

triples = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6), st.integers(0, 9)), max_size=25)


def build(drawn: list[tuple[int, int, int]]) -> Ragged:
    rows, items, weights = np.array(drawn, int).reshape(-1, 3).T
    return Ragged.from_pairs(rows, items, weights / 10, n_rows=5)


@given(triples, st.lists(st.integers(-1, 8), min_size=5, max_size=5))
def test_lookup_equals_a_dictionary(drawn, wanted):
    held: dict[tuple[int, int], float] = {}
    for row, item, weight in drawn:
        held[row, item] = max(weight / 10, held.get((row, item), 0.0))
    items = np.tile(np.array(wanted, np.int32), (5, 1))
    found = build(drawn).lookup(items)
    assert found.tolist() == [[held.get((row, item), 0.0) for item in wanted] for row in range(5)]


@given(triples, st.lists(st.integers(-1, 4), max_size=8))
def test_take_gives_the_rows_in_the_order_asked_for(drawn, wanted):
    ragged = build(drawn)
    taken = ragged.take(np.array(wanted, np.int32))
    for place, row in enumerate(wanted):
        mine = taken.indices[taken.indptr[place] : taken.indptr[place + 1]].tolist()
        assert mine == ([] if row < 0 else ragged.indices[ragged.indptr[row] : ragged.indptr[row + 1]].tolist())


@pytest.mark.parametrize(
    ("rows", "items", "found"),
    [([0, 5], [1, 1], r"rows 0\.\.5"), ([0], [-1], "smallest index -1"), ([0], [1, 2], "1 rows and 2 indices")],
)
def test_pairs_that_name_nothing_are_refused(rows, items, found):
    with pytest.raises(InputError, match=found):
        Ragged.from_pairs(np.array(rows), np.array(items), n_rows=5)


def test_rows_whose_indices_fall_are_refused():
    with pytest.raises(InputError, match="indices fall or repeat"):
        Ragged(np.array([0, 2]), np.array([3, 1], np.int32), np.ones(2))


def test_an_indptr_of_another_length_is_refused():
    with pytest.raises(InputError, match="indptr rising"):
        Ragged(np.array([0, 3]), np.array([3, 4], np.int32), np.ones(2))
