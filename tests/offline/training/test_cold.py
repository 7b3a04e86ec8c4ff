"""Unseen items lean on seen ones with like texts; seen items stay."""

import numpy as np

from offline.training.cold import ColdConfig, lean_on_neighbours

VECTORS = np.eye(4, dtype=np.float32)
TEXTS = np.array([[1, 0], [0.8, 0.6], [0, 1], [1, 0]], np.float32)
NEAR = np.array([[3, 1, 2], [0, 3, 2], [1, -1, -1], [0, 1, 2]], np.int32)
SEEN = np.array([True, True, True, False])


def test_an_unseen_item_points_mostly_where_its_neighbours_point() -> None:
    moved = lean_on_neighbours(VECTORS, TEXTS, NEAR, SEEN, ColdConfig(neighbours=2, sharpness=1, weight=3))
    direction = np.array([1, 0.8, 0, 0]) / np.hypot(1, 0.8)
    expected = np.array([0, 0, 0, 1]) + 3 * direction
    np.testing.assert_allclose(moved[3], expected / np.linalg.norm(expected), rtol=1e-6)
    np.testing.assert_array_equal(moved[:3], VECTORS[:3])


def test_an_item_without_seen_neighbours_keeps_the_vector_of_its_text() -> None:
    alone = np.array([[-1], [-1], [-1], [-1]], np.int32)
    np.testing.assert_array_equal(lean_on_neighbours(VECTORS, TEXTS, alone, SEEN, ColdConfig()), VECTORS)
    unseen = lean_on_neighbours(VECTORS, TEXTS, NEAR, np.zeros(4, np.bool_), ColdConfig())
    np.testing.assert_array_equal(unseen, VECTORS)
