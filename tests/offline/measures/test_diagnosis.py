"""Cold targets, overlap, popularity, substitute blindness and history dependence."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from models.errors import InputError
from offline.measures.cold import cold_targets, found_at
from offline.measures.history import history_dependence
from offline.measures.overlap import jaccard, overlap_matrix
from offline.measures.popularity import histories_holding, popularity_diagnosis, spearman
from offline.measures.substitutes import miss_anatomy

seeds = st.integers(0, 2**32 - 1)


@given(st.lists(st.integers(-1, 6)), st.lists(st.integers(0, 6)))
def test_cold_targets_are_those_that_training_lacks(targets, training):
    cold = cold_targets(np.array(targets, np.int32), np.array(training, np.int32), n_items=7)
    assert cold.tolist() == [t >= 0 and t not in training for t in targets]


def test_found_counts_cold_targets_alone():
    ranks, cold = np.array([1, 2, 60, 3]), np.array([True, False, True, True])
    assert [found_at(ranks, cold, k) for k in (1, 10, 100)] == [1, 2, 3]


@given(seeds)
def test_overlap_equals_sets_of_users(seed):
    ranks = np.random.default_rng(seed).integers(0, 15, (3, 12))
    right = [{u for u in range(12) if 0 < row[u] <= 10} for row in ranks]
    matrix = overlap_matrix(ranks, 10)
    for x in range(3):
        for a in range(3):
            either = right[x] | right[a]
            expected = len(right[x] & right[a]) / len(either) if either else np.nan
            assert matrix[x, a] == pytest.approx(expected, nan_ok=True)
            assert jaccard(ranks[x], ranks[a], 10) == pytest.approx(expected, nan_ok=True)


@given(seeds)
def test_spearman_equals_scipy_with_ties(seed):
    x, y = np.random.default_rng(seed).integers(0, 6, (2, 40))
    assert spearman(x, y) == pytest.approx(spearmanr(x, y)[0])


def test_a_constant_side_has_no_rank_correlation():
    assert np.isnan(spearman(np.ones(3), np.arange(3)))
    assert np.isnan(spearman(np.empty(0), np.empty(0)))


def test_a_history_that_repeats_an_item_counts_once():
    counts = histories_holding(np.array([0, 0, 1]), np.array([2, 2, 2]), n_items=4)
    assert counts.tolist() == [0, 0, 2, 0]


def test_a_score_counted_from_the_same_histories_correlates_fully_with_them():
    histories = np.array([1, 5, 9, 12])
    diagnosis = popularity_diagnosis(np.array([0, 1, 2, 3, -1]), np.log1p(histories), histories)
    assert diagnosis.score_spearman == pytest.approx(1.0)
    assert np.isnan(diagnosis.demand_spearman)
    assert diagnosis.often == 0.25


def test_no_targets_have_no_diagnosis():
    diagnosis = popularity_diagnosis(np.empty(0, np.int32), np.ones(3), np.arange(3))
    assert np.isnan([diagnosis.score_spearman, diagnosis.demand_spearman, diagnosis.often]).all()


@given(seeds)
def test_the_kinds_of_misses_equal_a_plain_loop(seed):
    rng = np.random.default_rng(seed)
    dr, gr = rng.choice([0, 1, 50, 51, 200], (2, 30))
    leaf = (rng.random((30, 60)) < 0.01).astype(float)
    anatomy = miss_anatomy(dr, leaf, gr, depth=200)
    missed = [u for u in range(30) if not 0 < dr[u] <= 50]
    assert anatomy.misses == len(missed)
    assert anatomy.near == sum(50 < dr[u] <= 200 for u in missed)
    assert anatomy.substitute == sum(dr[u] == 0 and leaf[u, :50].any() for u in missed)
    assert anatomy.rescued == sum(0 < gr[u] <= 50 for u in missed)
    assert anatomy.near + anatomy.substitute + anatomy.blind == anatomy.misses


def test_a_target_just_beyond_two_hundred_is_not_near():
    anatomy = miss_anatomy(np.array([201]), np.zeros((1, 50)), np.array([0]), depth=300)
    assert (anatomy.near, anatomy.blind) == (0, 1)
    assert anatomy.share(anatomy.blind) == 1.0


def test_a_short_list_cannot_tell_near_misses():
    with pytest.raises(InputError, match="found 50 places; expected at least 200"):
        miss_anatomy(np.array([0]), np.zeros((1, 50)), np.array([0]), depth=50)


def test_history_dependence_is_paired():
    full, last = np.array([1, 2, 3, 0] * 25), np.array([1, 2, 0, 0] * 25)
    dependence = history_dependence(full, last, 10, np.random.default_rng(1), resamples=200)
    assert (dependence.full.estimate, dependence.last.estimate) == (0.75, 0.5)
    assert dependence.kept == pytest.approx(2 / 3)
    assert dependence.gain.decided


def test_an_encoder_that_finds_nothing_keeps_no_share():
    dependence = history_dependence(np.zeros(3, int), np.zeros(3, int), 10, np.random.default_rng(1), resamples=20)
    assert np.isnan(dependence.kept)
