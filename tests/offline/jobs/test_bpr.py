"""Factors of items that the same people take point the same way."""

import numpy as np

from offline.jobs.bpr import BprConfig, item_factors


def test_items_taken_by_the_same_users_are_near_and_untaken_ones_are_zero() -> None:
    users = np.repeat(np.arange(40, dtype=np.int32), 4)
    sides = np.where(np.arange(40) % 2 == 0, 0, 4).astype(np.int32)
    items = (np.repeat(sides, 4) + np.tile(np.arange(4, dtype=np.int32), 40)).astype(np.int32)

    factors = item_factors(users, items, 9, BprConfig(width=8, epochs=30))

    cosines = factors @ factors.T
    assert cosines[0, 1:4].min() > 0.5 > cosines[0, 4:8].max()
    assert not factors[8].any()
    np.testing.assert_allclose(np.linalg.norm(factors[:8], axis=1), 1, atol=1e-5)


def test_the_same_seed_gives_the_same_factors() -> None:
    users, items = np.arange(30, dtype=np.int32) % 5, np.arange(30, dtype=np.int32) % 7
    first, second = (item_factors(users, items, 7, BprConfig(width=4, epochs=3)) for _ in range(2))
    assert (first == second).all()
