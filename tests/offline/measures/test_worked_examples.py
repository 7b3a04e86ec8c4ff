"""The worked examples of the definitions, on their very numbers."""

import numpy as np
import pytest

from models.graph import edge_weights
from models.value import item_values, percentile_rank, prior_scores, rescale_pool, star_fraction, wilson_lower_bound
from offline.measures.best_value import best_items, imputed_gap, paired_gap, wins
from offline.measures.ranking import ndcg_gains, target_ranks
from offline.measures.simplex import weight_grid
from offline.measures.vndcg import ideal_gain, pool, vndcg


def test_a_target_at_rank_r_gains_one_over_the_logarithm_of_r_plus_one_and_nothing_outside_the_list():
    ranks = target_ranks(np.array([[7, 8, 9]] * 4, np.int32), np.array([7, 8, 9, 5]))
    assert ndcg_gains(ranks, 3).tolist() == pytest.approx([1, 1 / np.log2(3), 0.5, 0])
    assert ndcg_gains(ranks, 2).tolist() == pytest.approx([1, 1 / np.log2(3), 0, 0])


def test_percentile_ranks():
    assert percentile_rank(np.array([0, 5, 5, 9])).tolist() == [0.25, 0.625, 0.625, 1.0]


@pytest.mark.parametrize(
    ("stars", "n", "fraction", "bound"),
    [
        (4.4545, 22, 0.863625, 0.666637),
        (5.0, 1, 1.0, 0.206549),
        (4.0, 10, 0.75, 0.442181),
        (1.0, 5, 0, 0),
        (3, 0, 0.5, 0),
    ],
)
def test_wilson_lower_bounds_of_stars_from_one_to_five(stars, n, fraction, bound):
    found = star_fraction(np.array([stars]), 1, 5)
    assert found.tolist() == pytest.approx([fraction], abs=5e-7)
    assert wilson_lower_bound(found, np.array([n])).tolist() == pytest.approx([bound], abs=5e-7)


def test_edge_weights_of_one_item():
    weights = edge_weights(np.array([0, 3]), np.array([4, 2, 1], np.int32))
    assert weights.tolist() == pytest.approx([1.0, 0.682606, 0.430677], abs=5e-7)


def test_the_prior_mixes_scaled_similarities_with_values():
    similarities, values = np.array([0.9, 0.8, 0.5]), np.array([0.2, 0.9, 0.6])
    assert rescale_pool(similarities).tolist() == pytest.approx([1, 0.75, 0])
    assert prior_scores(similarities, values, 0.5).tolist() == pytest.approx([0.6, 0.825, 0.3])
    assert rescale_pool(np.array([0.3, 0.3])).tolist() == [1, 1]


def test_the_default_weights_of_the_value():
    assert item_values(np.eye(3, dtype=np.float32), (0.25, 0.25, 0.5)).tolist() == [0.25, 0.25, 0.5]


def test_vndcg_over_the_shared_pool_at_three():
    a, b, c, d = range(4)
    lists = np.array([[[c, b, a]], [[b, d, c]]], np.int32)
    gains = (np.array([1.0, 1.0, 0.0, 1.0]) * np.array([0.9, 0.4, 0.7, 0.2]))[lists]
    assert ideal_gain(*pool(lists, gains), 3).tolist() == pytest.approx([1.252372], abs=5e-7)
    assert vndcg(lists, gains).ravel().tolist() == pytest.approx([0.560833, 0.420152], abs=5e-7)


def test_best_values_of_the_same_lists():
    """x puts a (0.9) forward, y b (0.4): a lead of 0.5 is a win; a second user finds nothing in y's list."""
    a, b, c, d = range(4)
    values, q = np.array([0.9, 0.4, 0.7, 0.2]), np.array([1.0, 1.0, 0.0, 1.0])
    lists_x, lists_y = np.array([[c, b, a], [d, c, c]], np.int32), np.array([[b, d, c], [c, -1, -1]], np.int32)
    x, y = (best_items(lists, np.where(lists < 0, 0, q[lists]), values, 3) for lists in (lists_x, lists_y))
    assert (x.values.tolist(), y.values.tolist()) == ([0.9, 0.2], [0.4, 0.0])
    assert paired_gap(x, y, np.random.default_rng(1), resamples=9).estimate == pytest.approx(0.5)
    assert imputed_gap(x, y, np.random.default_rng(1), resamples=9).estimate == pytest.approx((0.5 + 0.2) / 2)
    assert (wins(x, y).win, wins(x, y).users) == (1, 1)


def test_the_weight_simplex_has_231_points_in_steps_of_a_twentieth():
    grid = weight_grid()
    assert grid.shape == (231, 3)
    assert (grid * 20).round(9).tolist() == (grid * 20).round().tolist()
