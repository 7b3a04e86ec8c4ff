"""The flat search finds what a comparison with every vector finds, whatever is asked at the same time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.flat_search import AT_ONCE, FEW, FlatIndex
from models.integer_product import LARGEST, ZERO, IntegerProduct, is_exact
from models.retrieval import NO_ITEMS, Eligible

pytestmark = pytest.mark.skipif(not is_exact(), reason="this processor's kernel saturates: FAISS searches here")
N_MANY, WIDTH = 3000, 24
DEPTHS = st.sampled_from([1, 7, 50, 200, N_MANY - 1, N_MANY + 5])


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def crowded(seed: int, n: int) -> np.ndarray:
    """Vectors in tight clusters, many of them alike, some features far larger than others."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(12, WIDTH)) * np.geomspace(30, 0.1, WIDTH)
    return unit(centres[rng.integers(0, 12, n)] + rng.choice([0, 0.01, 0.3], (n, 1)) * rng.normal(size=(n, WIDTH)))


VECTORS = crowded(0, N_MANY)
INDEX = FlatIndex(VECTORS)


def expected(vectors: np.ndarray, query: np.ndarray, depth: int, eligible: Eligible) -> tuple[list[int], np.ndarray]:
    cosines = (vectors.astype(np.float64) @ query.astype(np.float64)).astype(np.float32)
    order = np.lexsort((np.arange(len(vectors)), -cosines)).astype(np.int32)
    kept = order[eligible.allows(order)][:depth]
    return kept.tolist(), cosines[kept]


@st.composite
def asked(draw: st.DrawFn, n: int) -> tuple[np.ndarray, int, Eligible]:
    """A query near an item or anywhere, a depth, and rules that leave all, few or no items."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    query = VECTORS[rng.integers(N_MANY)] if draw(st.booleans()) else unit(rng.normal(size=(1, WIDTH)))[0]
    share = draw(st.sampled_from([None, 0.9, 0.5, FEW / 2 / N_MANY, 1 / N_MANY, 0.0]))
    mask = None if share is None else rng.random(n) < share
    blocked = np.unique(rng.integers(0, n, draw(st.sampled_from([0, 6, 1000])))).astype(np.int32)
    return query, draw(DEPTHS), Eligible(n, mask, blocked)


@given(st.lists(asked(N_MANY), min_size=1, max_size=AT_ONCE + 3))
@settings(max_examples=60, deadline=None)
def test_every_list_of_a_batch_is_that_of_a_comparison_with_every_vector(
    batch: list[tuple[np.ndarray, int, Eligible]],
) -> None:
    queries, depths, rules = (list(column) for column in zip(*batch, strict=True))
    found = INDEX.search(np.stack(queries), depths, rules)
    for (items, cosines), one in zip(found, batch, strict=True):
        wanted, scores = expected(VECTORS, *one)
        assert items.tolist() == wanted
        np.testing.assert_array_equal(cosines, scores)


@given(st.integers(1, 70), st.integers(1, 9), st.integers(0, 9999), st.integers(1, 80), st.booleans())
@settings(max_examples=100, deadline=None)
def test_small_catalogues_of_any_width_and_many_ties(n: int, width: int, seed: int, depth: int, masked: bool) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.choice(np.array([-1, 0, 1, 1], np.float32), (n, width))
    rows[~rows.any(1)] = 1
    vectors, query = unit(rows), unit(rng.normal(size=(1, width)))
    rule = Eligible(n, rng.random(n) < 0.7 if masked else None, np.unique(rng.integers(0, n, 4)).astype(np.int32))
    items, cosines = FlatIndex(vectors).search(query, [depth], [rule])[0]
    wanted, scores = expected(vectors, query[0], depth, rule)
    assert items.tolist() == wanted
    np.testing.assert_array_equal(cosines, scores)


def test_items_alike_come_in_index_order_and_zero_vectors_are_items_like_others() -> None:
    vectors = np.zeros((40, 4), np.float32)
    vectors[::2, 0] = 1
    items, cosines = FlatIndex(vectors).search(vectors[:1], [30], [Eligible(40, None, NO_ITEMS)])[0]
    assert items.tolist() == [*range(0, 40, 2), *range(1, 20, 2)]
    assert cosines.tolist() == [1.0] * 20 + [0.0] * 10


def test_nothing_asked_nothing_found() -> None:
    assert INDEX.search(np.empty((0, WIDTH), np.float32), [], []) == []


@pytest.mark.parametrize(("n", "width"), [(1, 1), (3, 2), (7, 5), (513, 384)])
def test_integer_products_are_exact_for_the_largest_codes_too(n: int, width: int) -> None:
    rng = np.random.default_rng(n)
    codes = rng.integers(-LARGEST, LARGEST + 1, (n, width)).astype(np.int8)
    codes[0] = LARGEST
    queries = rng.integers(1, 256, (5, width)).astype(np.uint8)
    queries[0], queries[1] = 255, 1
    wanted = (queries.astype(np.int64) - ZERO) @ codes.T.astype(np.int64)
    product = IntegerProduct(codes, 1)
    for batch in (1, 2, 5):
        np.testing.assert_array_equal(product(queries[:batch]), wanted[:batch])
