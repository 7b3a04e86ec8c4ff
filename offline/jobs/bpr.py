"""Item factors by Bayesian personalised ranking (arXiv 1205.2618): the baseline `id-last` compares items by them."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from models.kernels import compiled
from models.prefetch import prefetch
from models.retrieval import Items

Floats = npt.NDArray[np.float32]
FLOAT_BYTES = 4
STEPS_AHEAD = 8
"""Factors asked for before their step: in a large catalogue they lie all over memory."""


@dataclass(frozen=True, slots=True)
class BprConfig:
    """Size and optimisation."""

    width: int = 64
    epochs: int = 60
    learning_rate: float = 0.05
    regularisation: float = 0.005
    """Pull of each update towards zero."""
    seed: int = 1


def item_factors(users: Items, items: Items, n_items: int, config: BprConfig) -> Floats:
    """float32 [n_items, width], L2-normalised; zero rows for items that nobody took.

    Args:
        users: int32 [m]: user of each training interaction, numbered from 0.
        items: int32 [m]: its item.
        n_items: catalogue size.
        config: size and optimisation.
    """
    generator = np.random.default_rng(config.seed)
    n_users = int(users.max()) + 1 if len(users) else 0
    user_factors = generator.normal(0, 0.1, (n_users, config.width)).astype(np.float32)
    factors = generator.normal(0, 0.1, (n_items, config.width)).astype(np.float32)
    seen = np.unique(items).astype(np.int32)
    for _ in range(config.epochs):
        order = generator.permutation(len(users))
        negatives = generator.choice(seen, len(users))
        _pass(
            user_factors, factors, users[order], items[order], negatives,
            config.learning_rate, config.regularisation,
        )  # fmt: skip
    known = np.zeros((n_items, config.width), np.float32)
    known[seen] = factors[seen] / np.maximum(np.linalg.norm(factors[seen], axis=1, keepdims=True), 1e-12)
    return known


@compiled
def _pass(
    user_factors: Floats,
    factors: Floats,
    users: npt.NDArray[np.int32],
    positives: npt.NDArray[np.int32],
    negatives: npt.NDArray[np.int32],
    rate: float,
    regularisation: float,
) -> None:
    """One stochastic pass: each interaction against one random item."""
    n_bytes = FLOAT_BYTES * factors.shape[1]
    for place in range(len(users)):
        if place + STEPS_AHEAD < len(users):
            prefetch(user_factors, users[place + STEPS_AHEAD], n_bytes)
            prefetch(factors, positives[place + STEPS_AHEAD], n_bytes)
            prefetch(factors, negatives[place + STEPS_AHEAD], n_bytes)
        if positives[place] == negatives[place]:
            continue
        user, good, bad = user_factors[users[place]], factors[positives[place]], factors[negatives[place]]
        margin = 0.0
        for axis in range(len(user)):
            margin += user[axis] * (good[axis] - bad[axis])
        pull = 1 / (1 + np.exp(margin))
        for axis in range(len(user)):
            u, g, b = user[axis], good[axis], bad[axis]
            user[axis] += rate * (pull * (g - b) - regularisation * u)
            good[axis] += rate * (pull * u - regularisation * g)
            bad[axis] += rate * (-pull * u - regularisation * b)
