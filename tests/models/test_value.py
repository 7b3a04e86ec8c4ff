"""The static value of an item: ranks, what happens when the data lacks a component, and the pool of the prior."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from models.errors import ConfigError
from models.value import (
    SECTION,
    effective_weights,
    item_values,
    percentile_rank,
    present_components,
    prior_scores,
    rescale_pool,
    star_fraction,
    value_components,
    wilson_lower_bound,
)

numbers = st.lists(st.integers(-5, 5), min_size=1, max_size=30).map(np.array)


@given(values=numbers)
def test_a_percentile_rank_is_the_mean_rank_over_n(values: np.ndarray) -> None:
    assert percentile_rank(values) == pytest.approx(rankdata(values, "average") / len(values))


@given(values=numbers)
def test_ranking_counts_equals_ranking_their_logarithms(values: np.ndarray) -> None:
    counts = values + 5
    assert np.array_equal(percentile_rank(counts), percentile_rank(np.log1p(counts)))


@given(fraction=st.floats(0, 1), n=st.integers(1, 10_000))
def test_the_wilson_bound_lies_below_the_fraction_and_rises_with_n(fraction: float, n: int) -> None:
    few, many = wilson_lower_bound(np.array([fraction, fraction]), np.array([n, 4 * n]))
    assert 0 <= few <= many + 1e-12
    assert many <= fraction + 1e-12


def test_an_empty_rating_scale_is_refused() -> None:
    with pytest.raises(ConfigError, match="5 to 5"):
        star_fraction(np.array([5.0]), 5, 5)


def test_all_components_are_ranks_and_the_default_weights_mix_them() -> None:
    values = value_components(np.array([4, 2]), np.array([0.2, 0.6]), np.array([0, -1], np.int32))
    assert values.present == (True, True, True)
    assert values.components.tolist() == [[1.0, 0.5, 1.0], [0.5, 1.0, 0.0]]
    assert item_values(values.components, (0.25, 0.25, 0.5)).tolist() == [0.875, 0.375]
    assert values.facts()["dropped"] == {}


def test_an_absent_component_is_dropped_reported_and_the_other_weights_rescaled() -> None:
    values = value_components(np.array([4, 2]), None, np.array([0, -1], np.int32))
    assert values.present == (True, False, True)
    assert values.facts()["dropped"] == {"rating": "no item has a rating"}
    assert present_components({SECTION: values.facts()}) == (True, False, True)
    found = item_values(values.components, (0.25, 0.25, 0.5), values.present)
    assert found == pytest.approx([1 / 3 + 2 / 3, 0.5 / 3])


def test_brands_that_no_item_carries_and_items_never_bought_are_absent_components() -> None:
    values = value_components(np.zeros(2, np.int64), None, np.full(2, -1, np.int32))
    assert values.present == (False, False, False)
    assert item_values(values.components, (0.25, 0.25, 0.5), values.present).tolist() == [0, 0]


def test_weights_on_absent_components_only_leave_no_value() -> None:
    assert effective_weights((0, 1, 0), (True, False, True)).tolist() == [0, 0, 0]


def test_a_manifest_that_does_not_say_has_all_components() -> None:
    assert present_components({}) == (True, True, True)


@given(values=numbers)
def test_a_pool_scales_to_zero_and_one_keeping_its_order(values: np.ndarray) -> None:
    scaled = rescale_pool(values)
    assert scaled.max() == 1
    assert scaled.min() == (1 if len(set(values.tolist())) == 1 else 0)
    assert np.array_equal(np.argsort(scaled, kind="stable"), np.argsort(values, kind="stable"))


def test_an_empty_pool_scales_to_an_empty_pool() -> None:
    assert len(rescale_pool(np.empty(0))) == 0


@given(values=numbers)
def test_alpha_zero_keeps_the_similarity_and_alpha_one_the_value(values: np.ndarray) -> None:
    similarities = np.arange(len(values), dtype=np.float64)
    assert prior_scores(similarities, values, 0) == pytest.approx(rescale_pool(similarities))
    assert prior_scores(similarities, values, 1) == pytest.approx(values)
