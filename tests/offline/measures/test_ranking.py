"""Recall, NDCG and partial credit against plain loops, and at the edges."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import InputError
from offline.measures.arrays import Ragged
from offline.measures.credit import best_credit, credit_ndcg, ideal_credit, ideal_of_counts
from offline.measures.ranking import hits_at, ndcg, ndcg_gains, recall, target_ranks
from offline.measures.relevance import exact

lists_of_users = st.lists(st.tuples(st.permutations(range(8)), st.integers(0, 8), st.integers(-1, 9)), max_size=12)


def arrays(drawn: list[tuple[list[int], int, int]]) -> tuple[np.ndarray, np.ndarray]:
    lists = np.full((len(drawn), 8), -1, np.int32)
    for row, (order, length, _) in enumerate(drawn):
        lists[row, :length] = order[:length]
    return lists, np.array([target for *_, target in drawn], np.int32)


@given(lists_of_users, st.integers(1, 10))
def test_ranks_and_measures_equal_a_plain_loop_over_users(drawn, k):
    lists, targets = arrays(drawn)
    ranks = target_ranks(lists, targets)
    expected = [order[:length].index(t) + 1 if t in order[:length] else 0 for order, length, t in drawn]
    assert ranks.tolist() == expected
    gains = [1 / math.log2(r + 1) if 0 < r <= k else 0.0 for r in expected]
    assert ndcg_gains(ranks, k).tolist() == pytest.approx(gains)
    if drawn:
        assert recall(ranks, [k])[0] == pytest.approx(sum(0 < r <= k for r in expected) / len(drawn))
        assert ndcg(ranks, [k])[0] == pytest.approx(sum(gains) / len(drawn))


@given(lists_of_users, st.integers(1, 8))
def test_under_the_exact_rule_partial_credit_is_recall_and_ndcg(drawn, k):
    lists, targets = arrays(drawn)
    ranks, q = target_ranks(lists, targets), exact(lists, targets)
    assert best_credit(q, k).tolist() == hits_at(ranks, k).tolist()
    asked = np.flatnonzero(targets >= 0)
    judged = Ragged.from_pairs(asked, targets[asked], n_rows=len(targets))
    assert credit_ndcg(q, ideal_credit(judged, k), k).tolist() == pytest.approx(ndcg_gains(ranks, k).tolist())


def test_padding_is_never_a_hit_even_for_a_user_without_a_target():
    assert target_ranks(np.array([[-1, -1]], np.int32), np.array([-1], np.int32)).tolist() == [0]


def test_empty_lists_and_no_users_give_numbers_that_say_so():
    assert target_ranks(np.empty((2, 0), np.int32), np.array([1, 2], np.int32)).tolist() == [0, 0]
    assert np.isnan(recall(np.empty(0, np.int32), [10])).all()


def test_lists_of_other_users_are_refused_with_shapes():
    with pytest.raises(InputError, match=r"found shape \(2, 3\); expected one row for each of 5 users"):
        target_ranks(np.zeros((2, 3), np.int32), np.zeros(5, np.int32))


def test_lists_of_floats_are_refused():
    with pytest.raises(InputError, match="found float64"):
        target_ranks(np.zeros((2, 3)), np.zeros(2, np.int32))


def test_the_ideal_takes_the_k_greatest_grades_only():
    judged = Ragged.from_pairs(np.array([0, 0, 0]), np.array([1, 2, 3]), np.array([0.2, 1.0, 0.6]), n_rows=1)
    assert ideal_credit(judged, 2)[0] == pytest.approx(1.0 + 0.6 / math.log2(3))


@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_graded_ndcg_is_one_for_the_best_order_and_never_more(seed, k):
    rng = np.random.default_rng(seed)
    grades = np.round(rng.random(9), 1)
    judged = Ragged.from_pairs(np.zeros(9, int), np.arange(9), grades, n_rows=1)
    best = np.argsort(-grades)[None, :].astype(np.int32)
    shuffled = rng.permutation(9)[None, :].astype(np.int32)
    assert credit_ndcg(judged.lookup(best), ideal_credit(judged, k), k)[0] == pytest.approx(
        1.0 if grades.any() else 0.0
    )
    assert credit_ndcg(judged.lookup(shuffled), ideal_credit(judged, k), k)[0] <= 1 + 1e-12


@given(st.lists(st.integers(0, 9), min_size=1, max_size=6), st.integers(1, 7))
def test_the_ideal_of_counts_is_that_of_rows_of_ones(counts, k):
    rows = np.repeat(np.arange(len(counts)), counts)
    items = np.concatenate([np.arange(n) for n in counts]).astype(int)
    judged = Ragged.from_pairs(rows, items, n_rows=len(counts))
    assert ideal_of_counts(np.array(counts), k).tolist() == pytest.approx(ideal_credit(judged, k).tolist())
