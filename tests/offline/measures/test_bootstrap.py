"""The bootstrap: reproducible, paired, and of the right width."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import InputError
from offline.measures import bootstrap
from offline.measures.bootstrap import bootstrap_mean, bootstrap_means, bootstrap_ratios, user_weights

seeds = st.integers(0, 2**32 - 1)


def test_the_interval_of_a_mean_is_as_wide_as_theory_says():
    sample = np.random.default_rng(2).normal(0.3, 1.0, 4_000)
    interval = bootstrap_mean(sample, np.random.default_rng(3), resamples=2_000)
    half = 1.959964 * sample.std() / np.sqrt(len(sample))
    assert interval.high - interval.estimate == pytest.approx(half, rel=0.1)
    assert interval.estimate - interval.low == pytest.approx(half, rel=0.1)


def test_the_interval_covers_the_truth_about_as_often_as_it_claims():
    rng = np.random.default_rng(5)
    intervals = [bootstrap_mean(rng.normal(0.2, 1.0, 120), rng, resamples=200) for _ in range(300)]
    covered = np.mean([i.low <= 0.2 <= i.high for i in intervals])
    assert 0.90 <= covered <= 0.98


def test_pairing_makes_a_steady_difference_certain():
    x = np.random.default_rng(1).random(500)
    gap = bootstrap_mean((x + 0.01) - x, np.random.default_rng(2))
    assert gap.decided
    assert gap.low == pytest.approx(0.01)
    assert gap.high == pytest.approx(0.01)


@given(seeds)
def test_columns_share_their_resamples_so_a_difference_of_columns_is_paired(seed):
    rng = np.random.default_rng(seed)
    x, a = rng.random(30), rng.random(30)
    together = bootstrap_means(np.stack((x, x, x - a), axis=1), np.random.default_rng(seed), resamples=50)
    assert together[0] == together[1]
    assert together[2].estimate == pytest.approx(together[0].estimate - a.mean())


@given(seeds, st.integers(1, 40), st.integers(1, 7))
def test_each_resample_draws_as_many_users_as_there_are(seed, users, resamples):
    weights = user_weights(users, resamples, np.random.default_rng(seed))
    assert weights.shape == (resamples, users)
    assert (weights.sum(1) == users).all()


def test_block_size_changes_nothing(monkeypatch):
    sample = np.random.default_rng(1).random((50, 2))
    whole = bootstrap_means(sample, np.random.default_rng(9), resamples=40)
    monkeypatch.setattr(bootstrap, "BLOCK_CELLS", 50 * 7)
    blocks = bootstrap_means(sample, np.random.default_rng(9), resamples=40)
    assert [(b.low, b.high) for b in blocks] == [pytest.approx((w.low, w.high)) for w in whole]


def test_a_ratio_counts_only_the_users_its_denominator_marks():
    values, marked = np.array([[0.4], [0.0], [0.2]]), np.array([[1.0], [0.0], [1.0]])
    interval = bootstrap_ratios(values, marked, np.random.default_rng(1))[0]
    assert interval.estimate == pytest.approx(0.3)
    assert (interval.low, interval.high) == pytest.approx((0.2, 0.4))


def test_nobody_to_average_over_gives_nan_not_an_error():
    interval = bootstrap_mean(np.empty(0), np.random.default_rng(1))
    assert np.isnan([interval.estimate, interval.low, interval.high]).all()
    assert not interval.decided


def test_nan_is_refused_with_the_remedy():
    with pytest.raises(InputError, match="zero denominator instead of NaN"):
        bootstrap_mean(np.array([0.1, np.nan]), np.random.default_rng(1))


def test_a_level_in_percent_is_refused():
    with pytest.raises(InputError, match=r"Use 0\.95"):
        bootstrap_mean(np.array([0.1]), np.random.default_rng(1), level=95)
