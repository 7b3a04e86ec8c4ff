"""Semantic IDs: quantised, unique, and reported as they are."""

import numpy as np
import pytest
import torch

from models.neural.rqvae import Codebook, RqvaeConfig, rqvae_ids
from models.neural.semantic_ids import IdConfig, SemanticIds, kmeans_ids


def clusters(n: int, seed: int = 0) -> np.ndarray:
    """Points around 8 centres of 8 dimensions."""
    generator = np.random.default_rng(seed)
    centres = generator.normal(size=(8, 8)) * 4
    return (centres[generator.integers(0, 8, n)] + generator.normal(size=(n, 8)) * 0.3).astype(np.float32)


def made(quantiser: str, points: np.ndarray, known: np.ndarray) -> SemanticIds:
    if quantiser == "kmeans":
        return kmeans_ids(points, known, IdConfig(codebook=8))
    small = RqvaeConfig(hidden=(16,), latent=8, batch=64, learning_rate=1e-2)
    return rqvae_ids(points, known, IdConfig(codebook=8, epochs=20), small)


@pytest.mark.parametrize("quantiser", ["kmeans", "rqvae"])
def test_every_item_gets_a_unique_id_within_its_codebooks(quantiser: str) -> None:
    points = clusters(300)
    ids = made(quantiser, points, np.arange(300) % 5 > 0)
    assert ids.codes.shape == (300, 4)
    assert len(np.unique(ids.codes, axis=0)) == 300
    assert (ids.codes >= 0).all()
    assert (ids.codes < np.array(ids.codebooks)).all()
    assert ids.codebooks[-1] == ids.report.largest_group


@pytest.mark.parametrize("quantiser", ["kmeans", "rqvae"])
def test_reconstruction_explains_most_of_clustered_points(quantiser: str) -> None:
    ids = made(quantiser, clusters(300), np.ones(300, np.bool_))
    assert ids.report.relative_error < 0.3


@pytest.mark.parametrize("quantiser", ["kmeans", "rqvae"])
def test_the_same_seed_gives_the_same_ids(quantiser: str) -> None:
    points, known = clusters(120), np.ones(120, np.bool_)
    assert (made(quantiser, points, known).codes == made(quantiser, points, known).codes).all()


def test_more_codes_than_points_gives_every_distinct_point_its_own_code() -> None:
    points = np.eye(3, dtype=np.float32)[[0, 1, 2, 0]]
    ids = kmeans_ids(points, np.ones(4, np.bool_), IdConfig())
    assert ids.report.reconstruction_error == 0
    assert ids.report.collisions == 1
    assert ids.codes[[0, 3], 3].tolist() == [0, 1]


def test_the_report_counts_collisions_and_use() -> None:
    points = np.repeat(np.eye(4, dtype=np.float32), [3, 2, 1, 1], axis=0)
    report = kmeans_ids(points, np.ones(7, np.bool_), IdConfig(codebook=8)).report
    assert (report.shared, report.collisions, report.largest_group) == (5, 3, 3)
    assert report.used[0] == 0.5


def test_a_code_that_nothing_uses_is_restarted_at_an_input() -> None:
    far = torch.tensor([[0.0, 0.0], [100.0, 100.0]])
    book = Codebook(far, RqvaeConfig(decay=0.5))
    inputs = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    for _ in range(8):
        book.follow(inputs, book.assign(inputs), torch.Generator().manual_seed(0))
    assert (book.vectors.abs() <= 1).all()
    assert set(book.assign(inputs).tolist()) == {0, 1}


def test_codes_follow_the_mean_of_what_is_assigned_to_them() -> None:
    book = Codebook(torch.tensor([[0.0], [10.0]]), RqvaeConfig(decay=0.5))
    inputs = torch.tensor([[1.0], [2.0], [9.0]])
    for _ in range(40):
        book.follow(inputs, book.assign(inputs), torch.Generator().manual_seed(0))
    torch.testing.assert_close(book.vectors, torch.tensor([[1.5], [9.0]]), atol=1e-3, rtol=0)
