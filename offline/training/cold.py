"""Vectors of items that no training history holds: made of their text, and leaning on what resembles it.

Training pulls a query towards vectors that have a part of their own, which unseen items lack, so by their text alone
they rank below what they resemble. Each leans towards the vectors of the seen items with the nearest texts instead.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class ColdConfig:
    """How far unseen items lean on seen ones; chosen on the validation split of Toys."""

    neighbours: int = 10
    """Seen items with the nearest texts."""
    sharpness: float = 4.0
    """Each weighs with its cosine to this power."""
    weight: float = 4.0
    """Of the neighbours' mean direction against the item's own vector."""


def lean_on_neighbours(
    vectors: Floats,
    embeddings: Floats,
    neighbours: npt.NDArray[np.int32],
    seen: npt.NDArray[np.bool_],
    config: ColdConfig,
    part: range | None = None,
) -> Floats:
    """float32 [n, h], L2-normalised: the vectors, those of unseen items moved.

    Args:
        vectors: float32 [n, h], L2-normalised.
        embeddings: float32 [n, d]: text embeddings.
        neighbours: int32 [n, m]: text neighbours, best first, padded with -1.
        seen: bool [n]: items of training histories.
        config: how far.
        part: consecutive items that are wanted; None = all.
    """
    part = part or range(len(vectors))
    moved = np.array(vectors[part.start : part.stop])
    for item in (np.flatnonzero(~seen[part.start : part.stop]) + part.start).tolist():
        near = neighbours[item][neighbours[item] >= 0]
        near = near[seen[near]][: config.neighbours]
        weights = np.maximum(embeddings[near] @ embeddings[item], 0) ** config.sharpness
        direction = weights @ vectors[near]
        length = np.linalg.norm(direction)
        if length > 0:
            leaning = vectors[item] + config.weight * direction / length
            moved[item - part.start] = leaning / np.linalg.norm(leaning)
    return moved
