"""Which FAISS index is chosen, and what the manifest says of it."""

import numpy as np
import pytest

from models.dense import DenseIndex
from models.retrieval import Eligible
from offline.training.index import Candidate, IndexConfig, Measured, build_index, choose


def vectors(n: int) -> np.ndarray:
    rows = np.random.default_rng(0).normal(size=(n, 16)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_small_catalogues_are_compared_item_by_item_in_half_precision_where_that_finds_the_same() -> None:
    index, facts = build_index(vectors(300), vectors(10), IndexConfig(depth=10))
    assert facts["kind"] == "flat, half precision"
    assert 0.995 <= facts["recall"] <= 1
    assert index.ntotal == 300


def test_where_half_precision_is_too_coarse_single_precision_stays() -> None:
    close = vectors(1) + np.arange(300, dtype=np.float32)[:, None] * 1e-7
    index, facts = build_index(close.astype(np.float32), vectors(1), IndexConfig(depth=10))
    assert (facts["kind"], facts["recall"], index.ntotal) == ("flat", 1.0, 300)


def test_larger_ones_get_a_measured_index_with_its_recall_against_flat() -> None:
    rows = vectors(3000)
    index, facts = build_index(rows, rows[:50], IndexConfig(flat_items=1000, depth=10, sample=50, least_recall=0.9))
    assert index.ntotal == 3000
    assert len(facts["measured"]) == 4
    found = index.search(rows[:50], 10)[1]
    truth = np.argsort(-(rows[:50] @ rows.T), axis=1)[:, :10]
    recall = np.mean([len(np.intersect1d(a, b)) / 10 for a, b in zip(found, truth, strict=True)])
    assert abs(recall - facts["recall"]) < 0.02


def test_beyond_whole_vectors_codes_are_kept_and_the_best_compared_again() -> None:
    rows = vectors(6000)
    config = IndexConfig(flat_items=1000, coded_items=5000, depth=10, sample=50, least_recall=0.9)
    index, facts = build_index(rows, rows[:50], config)
    assert "codes of 4 x 7 bits" in facts["kind"]
    assert index.sa_code_size() < rows.shape[1]
    items, cosines = DenseIndex(index, rows).search(rows[:1], [10], [Eligible(len(rows))])[0]
    np.testing.assert_allclose(cosines, rows[items] @ rows[0], rtol=1e-6)
    truth = np.argsort(-(rows[:50] @ rows.T), axis=1)[:, :10]
    found = [items for items, _ in DenseIndex(index, rows).search(rows[:50], [10] * 50, [Eligible(len(rows))] * 50)]
    recall = np.mean([len(np.intersect1d(a, b)) / 10 for a, b in zip(found, truth, strict=True)])
    assert recall == pytest.approx(facts["recall"])
    assert recall > 0.9


def test_the_fastest_of_the_faithful_is_chosen_else_the_most_faithful() -> None:
    fast, slow, wrong = (Measured(Candidate(kind, None), recall, us) for kind, recall, us in
                         (("fast", 0.985, 10), ("slow", 0.999, 50), ("wrong", 0.5, 1)))  # fmt: skip
    assert choose([fast, slow, wrong], 0.98).candidate.kind == "fast"
    assert choose([fast, wrong], 0.99).candidate.kind == "fast"
    assert choose([fast, slow, wrong], 0.99).candidate.kind == "slow"
