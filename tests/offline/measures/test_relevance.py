"""Relevance rules, and the random control that co-purchase credit must beat."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import InputError
from offline.measures.arrays import Ragged
from offline.measures.relevance import (
    co_purchase,
    credited,
    exact,
    graded,
    judgment_rows,
    leaf_counts,
    random_control,
    same_leaf,
)

seeds = st.integers(0, 2**32 - 1)


@given(seeds)
def test_rules_equal_their_definition_item_by_item(seed):
    rng = np.random.default_rng(seed)
    items, targets = rng.integers(-1, 9, (6, 5)).astype(np.int32), rng.integers(-1, 9, 6).astype(np.int32)
    leaves = rng.integers(-1, 3, 9).astype(np.int32)
    pairs = {(int(a), int(b)) for a, b in rng.integers(0, 9, (20, 2))}
    links = Ragged.from_pairs(*np.array(sorted(pairs)).T, n_rows=9)
    for rule, holds in (
        (exact(items, targets), lambda i, t: i == t),
        (same_leaf(items, targets, leaves), lambda i, t: i == t or (leaves[i] == leaves[t] != -1)),
        (co_purchase(items, targets, links), lambda i, t: i != t and (t, i) in pairs),
    ):
        expected = [
            [float(i >= 0 and t >= 0 and holds(i, t)) for i in row] for row, t in zip(items, targets, strict=True)
        ]
        assert rule.tolist() == expected


@given(seeds)
def test_leaf_counts_are_the_finds_in_the_whole_catalogue(seed):
    rng = np.random.default_rng(seed)
    leaves, targets = rng.integers(-1, 3, 9).astype(np.int32), rng.integers(-1, 9, 6).astype(np.int32)
    catalogue = np.tile(np.arange(9, dtype=np.int32), (6, 1))
    assert leaf_counts(targets, leaves).tolist() == same_leaf(catalogue, targets, leaves).sum(1).tolist()


@given(seeds)
def test_the_control_keeps_the_amount_and_draws_distinct_items_without_the_target(seed):
    rng = np.random.default_rng(seed)
    n_items = int(rng.integers(2, 12))
    rows, items = np.nonzero(rng.random((7, n_items - 1)) < rng.random())
    credit = Ragged.from_pairs(rows, items, rng.random(len(rows)), n_rows=7)
    targets = rng.integers(-1, n_items, 7).astype(np.int32)
    control = random_control(credit, targets, n_items=n_items, rng=rng)
    assert control.lengths().tolist() == credit.lengths().tolist()
    for row in range(7):
        mine = slice(credit.indptr[row], credit.indptr[row + 1])
        assert targets[row] not in control.indices[mine]
        assert sorted(control.weights[mine]) == sorted(credit.weights[mine])
    assert ((control.indices >= 0) & (control.indices < n_items)).all()


def test_the_control_draws_every_item_equally_often():
    users, n_items = 6_000, 7
    credit = Ragged.from_pairs(np.arange(users).repeat(3), np.tile([0, 1, 2], users), n_rows=users)
    control = random_control(credit, np.full(users, 3, np.int32), n_items=n_items, rng=np.random.default_rng(3))
    counts = np.bincount(control.indices, minlength=n_items)
    assert counts[3] == 0
    expected = users * 3 / 6
    assert np.abs(np.delete(counts, 3) - expected).max() < 5 * np.sqrt(expected)


def test_the_control_is_the_same_for_the_same_generator():
    credit = Ragged.from_pairs(np.array([0, 0, 1]), np.array([1, 2, 3]), n_rows=2)
    draws = [random_control(credit, np.array([4, 5]), n_items=99, rng=np.random.default_rng(5)).indices for _ in "ab"]
    assert draws[0].tolist() == draws[1].tolist()


def test_more_credit_than_the_catalogue_holds_is_refused():
    credit = Ragged.from_pairs(np.array([0, 0, 0]), np.array([0, 1, 2]), n_rows=1)
    with pytest.raises(InputError, match="co-purchase credit of user row 0: found 3 items; expected at most the 2"):
        random_control(credit, np.array([1], np.int32), n_items=3, rng=np.random.default_rng(1))


def test_an_item_linked_to_itself_earns_nothing():
    links = Ragged.from_pairs(np.array([2, 2]), np.array([1, 2]), n_rows=3)
    assert credited(links, np.array([2, -1], np.int32)).indices.tolist() == [1]


@pytest.mark.parametrize("grade", [1.5, -0.1, float("nan")])
def test_a_grade_outside_zero_to_one_names_its_row(grade):
    with pytest.raises(InputError, match="graded judgments, row 2, field grade"):
        judgment_rows(np.array([0, 0]), np.array([1, 2]), np.array([0.5, grade]), n_users=1)


def test_what_no_one_judged_has_no_grade():
    judged = judgment_rows(np.array([1]), np.array([4]), np.array([0.5]), n_users=2)
    assert graded(np.array([[4], [4]], np.int32), judged).tolist() == [[0.0], [0.5]]


def test_an_empty_table_of_links_gives_no_credit():
    links = Ragged.from_pairs(np.empty(0, int), np.empty(0, int), n_rows=5)
    assert co_purchase(np.array([[1, 2]], np.int32), np.array([3], np.int32), links).tolist() == [[0.0, 0.0]]
