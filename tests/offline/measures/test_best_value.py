"""Best-item value: gaps, wins and the decomposition against plain loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import InputError
from offline.measures.best_value import (
    BestItems,
    best_items,
    both_found,
    decomposition,
    imputed_gap,
    paired_gap,
    wins,
    won,
)

seeds = st.integers(0, 2**32 - 1)


def draw(seed: int) -> tuple[np.random.Generator, list[BestItems], np.ndarray, np.ndarray, list[list[int]]]:
    """Two methods' best items on random lists, with the value's parts and each list's relevant items."""
    rng = np.random.default_rng(seed)
    components, weights = rng.random((3, 9)), np.array([0.25, 0.25, 0.5])
    found, kept = [], []
    for _ in "xa":
        lists = np.array([rng.permutation(9)[:4] for _ in range(8)], np.int32)
        lists[rng.random(lists.shape) < 0.2] = -1
        q = (rng.random(lists.shape) < 0.5).astype(float)
        found.append(best_items(lists, q, weights @ components, 3))
        kept.append(
            [
                [i for i, r in zip(row[:3], rel[:3], strict=True) if r and i >= 0]
                for row, rel in zip(lists, q, strict=True)
            ]
        )
    return rng, found, components, weights, kept


@given(seeds)
def test_best_values_and_gaps_equal_a_plain_loop(seed):
    rng, (x, a), components, weights, (kept_x, kept_a) = draw(seed)
    v = weights @ components
    assert x.values.tolist() == pytest.approx([max((v[i] for i in row), default=0.0) for row in kept_x])
    gaps = [max(v[r]) - max(v[s]) for r, s in zip(kept_x, kept_a, strict=True) if r and s]
    estimate = paired_gap(x, a, rng, resamples=20).estimate
    assert estimate == pytest.approx(np.mean(gaps)) if gaps else np.isnan(estimate)
    assert imputed_gap(x, a, rng, resamples=20).estimate == pytest.approx(np.mean(x.values - a.values))
    counted = wins(x, a)
    assert (counted.win, counted.loss) == (sum(g > 0.05 for g in gaps), sum(g < -0.05 for g in gaps))
    assert counted.users == both_found(x, a).sum() == len(gaps)


@given(seeds)
def test_shares_sum_to_one_and_equal_their_definition(seed):
    rng, (x, a), components, weights, _ = draw(seed)
    shares = [s.estimate for s in decomposition(x, a, components, weights, rng, resamples=20)]
    users = np.flatnonzero(won(x, a))
    if not len(users):
        assert np.isnan(shares).all()
        return
    v = weights @ components
    lead = sum(v[x.items[u]] - v[a.items[u]] for u in users)
    mine = [sum(weights[c] * (components[c][x.items[u]] - components[c][a.items[u]]) for u in users) for c in range(3)]
    assert shares == pytest.approx([part / lead for part in mine])
    assert sum(shares) == pytest.approx(1.0)


def test_swapping_the_methods_swaps_wins_and_losses_and_the_sign():
    _, (x, a), *_ = draw(5)
    forth, back = wins(x, a), wins(a, x)
    assert (forth.win, forth.tie, forth.loss) == (back.loss, back.tie, back.win)
    forth, back = (paired_gap(*pair, np.random.default_rng(1), resamples=50) for pair in ((x, a), (a, x)))
    assert forth.estimate == pytest.approx(-back.estimate)
    assert forth.low == pytest.approx(-back.high)


def test_of_equal_values_the_earlier_place_is_the_best_item():
    lists = np.array([[3, 1, 2]], np.int32)
    assert best_items(lists, np.ones((1, 3)), np.array([0.0, 0.7, 0.7, 0.1]), 3).items.tolist() == [1]


def test_an_item_without_value_is_still_a_find():
    best = best_items(np.array([[1]], np.int32), np.ones((1, 1)), np.zeros(2), 1)
    assert best.found.tolist() == [True]


def test_padding_is_no_find_whatever_its_relevance():
    best = best_items(np.array([[-1, -1]], np.int32), np.ones((1, 2)), np.ones(3), 2)
    assert best.items.tolist() == [-1]
    assert best.values.tolist() == [0.0]


def test_a_lead_of_exactly_the_margin_is_a_tie():
    x, a = BestItems(np.array([1]), np.array([0.65])), BestItems(np.array([2]), np.array([0.60]))
    assert 0.65 - 0.60 > 0.05
    assert wins(x, a).tie == 1


def test_methods_of_other_users_cannot_be_compared():
    short, long = (BestItems(np.zeros(n, np.int32), np.zeros(n)) for n in (2, 3))
    with pytest.raises(InputError, match="expected one row for each of 2 users"):
        wins(short, long)
