"""Dense search: exact order, ties by index, and nothing that may not be returned, whatever the index."""

from pathlib import Path

import faiss
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.bundle import layout
from models.dense import DenseIndex, open_index
from models.flat_search import FlatIndex
from models.integer_product import is_exact
from models.retrieval import Eligible
from tests.neural_shop import add_neural
from tests.shop import build, odd_shop


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def flat(vectors: np.ndarray) -> DenseIndex:
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    return DenseIndex(index, vectors)


def expected(vectors: np.ndarray, query: np.ndarray, depth: int, eligible: Eligible) -> list[int]:
    scores = vectors @ query
    order = np.lexsort((np.arange(len(vectors)), -scores))
    return [int(item) for item in order if eligible.allows(np.array([item], np.int32))[0]][:depth]


@given(st.integers(1, 60), st.integers(1, 70), st.integers(0, 9999), st.booleans())
@settings(deadline=None)
def test_the_list_is_that_of_a_full_sort_with_masks_exclusions_and_many_ties(
    n: int, depth: int, seed: int, masked: bool
) -> None:
    rng = np.random.default_rng(seed)
    vectors = unit(rng.choice(np.array([[1, 0], [0, 1], [1, 1], [-1, 0]], np.float32), n))
    mask = rng.random(n) < 0.7 if masked else None
    eligible = Eligible(n, mask, np.unique(rng.integers(0, n, 4)).astype(np.int32))
    query = np.array([1, 0], np.float32)
    items, scores = flat(vectors).search(query[None], [depth], [eligible])[0]
    assert items.tolist() == expected(vectors, query, depth, eligible)
    np.testing.assert_array_equal(scores, (vectors @ query)[items])


def inverted(vectors: np.ndarray) -> DenseIndex:
    index = faiss.IndexIVFFlat(faiss.IndexFlatIP(8), 8, 4, faiss.METRIC_INNER_PRODUCT)
    index.train(vectors)
    index.add(vectors)
    index.nprobe = 4
    return DenseIndex(index, vectors)


def half(vectors: np.ndarray) -> DenseIndex:
    index = faiss.IndexScalarQuantizer(8, faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT)
    index.train(vectors)
    index.add(vectors)
    return DenseIndex(index, vectors)


def graph(vectors: np.ndarray) -> DenseIndex:
    index = faiss.IndexHNSWFlat(8, 16, faiss.METRIC_INNER_PRODUCT)
    index.add(vectors)
    index.hnsw.efSearch = 400
    return DenseIndex(index, vectors)


@pytest.mark.parametrize("make", [inverted, graph, half])
@pytest.mark.parametrize("masked", [False, True])
def test_other_indexes_obey_masks_and_exclusions(make: object, masked: bool) -> None:
    rng = np.random.default_rng(0)
    vectors = unit(rng.normal(size=(400, 8)))
    eligible = Eligible(400, rng.random(400) < 0.5 if masked else None, np.arange(0, 50, dtype=np.int32))
    query = vectors[7]
    items, scores = make(vectors).search(query[None], [20], [eligible])[0]  # type: ignore[operator]
    assert items.tolist() == expected(vectors, query, 20, eligible)
    assert (np.diff(scores) <= 0).all()


def test_a_small_catalogue_is_compared_item_by_item_and_a_large_one_searched_by_the_bundles_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = odd_shop(1)
    bundle = build(tmp_path, one, lambda writer, _: add_neural(writer, one.embeddings, one.popularity))
    opened = open_index(bundle, 1)
    assert isinstance(opened, FlatIndex if is_exact() else DenseIndex)
    monkeypatch.setattr("models.dense.FLAT_BYTES", 100)
    large = open_index(bundle, 1)
    assert isinstance(large, DenseIndex)
    query = np.array(bundle.array(layout.ITEM_VECTORS)[3:4])
    (_, flat), (_, faiss_) = (each.search(query, [9], [Eligible(bundle.n_items)])[0] for each in (opened, large))
    np.testing.assert_allclose(flat, faiss_, atol=1e-6)


def test_where_the_processors_integer_products_are_not_exact_the_bundles_index_searches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = odd_shop(1)
    bundle = build(tmp_path, one, lambda writer, _: add_neural(writer, one.embeddings, one.popularity))
    monkeypatch.setattr("models.dense.is_exact", lambda: False)
    assert isinstance(open_index(bundle, 1), DenseIndex)
