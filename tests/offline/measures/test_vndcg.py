"""vNDCG over the shared pool and the weight sweep, against plain loops."""

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.errors import InputError
from offline.measures.simplex import agreement, sweep, weight_grid
from offline.measures.vndcg import ideal_gain, pool, vndcg

seeds = st.integers(0, 2**32 - 1)


def draw(seed: int, methods: int = 3, users: int = 5, k: int = 4, n_items: int = 9):
    """Lists without repeats, some cut short, with relevance and value as functions of user and item."""
    rng = np.random.default_rng(seed)
    lists = np.array([[rng.permutation(n_items)[:k] for _ in range(users)] for _ in range(methods)], np.int32)
    lists[np.arange(k) >= rng.integers(0, k + 1, (methods, users, 1))] = -1
    relevant = (rng.random((users, n_items)) < 0.5) * rng.choice([0.5, 1.0], (users, n_items))
    q = np.where(lists < 0, 0.0, relevant[np.arange(users)[None, :, None], lists])
    return lists, q, rng.random((3, n_items))


def plain(lists: np.ndarray, gains: np.ndarray) -> list[list[float]]:
    methods, users, k = lists.shape
    scores = np.zeros((methods, users))
    for u in range(users):
        pooled = {int(i): g for m in range(methods) for i, g in zip(lists[m, u], gains[m, u], strict=True) if i >= 0}
        ideal = sum(g / math.log2(j + 2) for j, g in enumerate(sorted(pooled.values(), reverse=True)[:k]))
        for m in range(methods):
            found = sum(g / math.log2(j + 2) for j, g in enumerate(gains[m, u]))
            scores[m, u] = found / ideal if ideal else 0.0
    return scores.tolist()


def test_the_worked_example_of_the_definition():
    a, b, c, d = range(4)
    lists = np.array([[[c, b, a]], [[b, d, c]]], np.int32)
    gains = (np.array([1.0, 1.0, 0.0, 1.0]) * np.array([0.9, 0.4, 0.7, 0.2]))[lists]
    assert ideal_gain(*pool(lists, gains), 3).tolist() == pytest.approx([1.252372], abs=5e-7)
    assert vndcg(lists, gains).ravel().tolist() == pytest.approx([0.560833, 0.420152], abs=5e-7)


@given(seeds)
def test_scores_equal_a_plain_loop(seed):
    lists, q, components = draw(seed)
    gains = q * components[0][lists]
    assert np.allclose(vndcg(lists, gains), plain(lists, gains))


@given(seeds)
def test_another_method_can_only_lower_the_scores(seed):
    lists, q, components = draw(seed)
    gains = q * components[0][lists]
    assert (vndcg(lists, gains)[:2] <= vndcg(lists[:2], gains[:2]) + 1e-12).all()


def test_a_repeated_item_counts_once():
    gains = np.array([[[0.8, 0.8]]])
    assert vndcg(np.array([[[3, 3]]], np.int32), gains)[0, 0] == pytest.approx(1.0)


def test_a_pool_of_nothing_scores_zero():
    assert vndcg(np.full((2, 1, 3), -1, np.int32), np.zeros((2, 1, 3))).tolist() == [[0.0], [0.0]]


@pytest.mark.parametrize("gain", [-0.1, float("nan")])
def test_gains_below_zero_or_unknown_are_refused(gain):
    with pytest.raises(InputError, match="negative or NaN gain"):
        vndcg(np.array([[[1]]], np.int32), np.array([[[gain]]]))


def test_lists_and_gains_of_other_shapes_are_refused():
    with pytest.raises(InputError, match=r"shapes \[1, 1, 2\] and \[1, 1, 1\]"):
        vndcg(np.zeros((1, 1, 2), np.int32), np.zeros((1, 1, 1)))


def test_the_grid_holds_each_weighting_once():
    grid = weight_grid()
    assert grid.shape == (231, 3)
    assert (grid >= 0).all()
    assert np.allclose(grid.sum(1), 1)
    assert len({tuple(row) for row in grid.tolist()}) == 231


@given(seeds)
@settings(max_examples=30)
def test_the_sweep_equals_vndcg_at_each_weighting(seed):
    lists, q, components = draw(seed)
    swept = sweep(lists, q, components, weight_grid(4))
    for point, weight in enumerate(swept.weights):
        gains = q * np.where(lists < 0, 0.0, (weight @ components)[lists])
        direct = vndcg(lists, gains)
        assert np.allclose([swept.scores(m)[point] for m in range(3)], direct)


def test_the_sweep_finds_the_weightings_that_favour_each_method():
    """x returns the popular item, a the item of a known brand: each wins where its component weighs more."""
    users = 40
    lists = np.stack([np.zeros((users, 1), np.int32), np.ones((users, 1), np.int32)])
    components = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    weights = weight_grid(4)
    gaps = sweep(lists, np.ones(lists.shape), components, weights).gap(0, 1, np.random.default_rng(1), resamples=50)
    signs = np.sign([gap.estimate for gap in gaps])
    assert signs.tolist() == np.sign(weights[:, 0] - weights[:, 2]).tolist()
    assert agreement(gaps) == (6, 6, 3)


def test_a_sweep_over_twenty_thousand_users_takes_seconds():
    """Two methods of 100 items each, a fifth of them relevant; the bound leaves room for a busy machine."""
    rng = np.random.default_rng(4)
    lists = rng.integers(0, 12_000, (2, 20_000, 100), dtype=np.int32)
    q = (rng.random(lists.shape) < 0.2).astype(float)
    start = time.process_time()
    swept = sweep(lists, q, rng.random((3, 12_000)), weight_grid())
    swept.gap(0, 1, rng, resamples=1_000)
    assert time.process_time() - start < 45
