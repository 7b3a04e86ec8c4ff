"""A start of training from what needs none: text by its principal axes, items by who they are bought with.

Random starts have to learn from few interactions what counting already knows, and over-fit while they do. Here the
first part of a vector starts as the leading principal components of the text embedding, the second as the item's
place in a truncated singular value decomposition of the symmetric, degree-normalised co-occurrence matrix of
training histories (as spectral embeddings of graphs do). With the encoder's decaying mean of item vectors the
untrained model is already a good retriever, and training starts from there.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from models.neural.config import ItemVector, NetworkConfig
from models.neural.network import Network
from models.neural.principal import principal_map
from offline.training.histories import Histories

Floats = npt.NDArray[np.float32]
Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class WarmStartConfig:
    """How the spectral start is made."""

    reach: int = 8
    """Items of a history at most this far apart count as bought together, 1 / distance each."""
    shrinkage: float = 5.0
    """Items are trusted by count / (count + shrinkage)."""
    own_share: float = 0.5
    """Share of a vector that starts as the item's own, the rest as its text."""
    scale: float = 1.0
    """Length of a well-known item's own vector relative to that of its text."""
    iterations: int = 4
    """Subspace iterations of the randomised decomposition."""


def applies(config: NetworkConfig) -> bool:
    """Whether a network has the parts that can start warm."""
    return config.item_vector is ItemVector.TEXT_AND_ID and config.text_layers == 1 and config.causal


@torch.no_grad()
def warm_start(network: Network, histories: Histories, config: WarmStartConfig, seed: int) -> None:
    """Overwrite the items' text map and own vectors, and quieten the encoder's answer."""
    items, width = network.items, network.config.width
    half = width - round(config.own_share * width)
    assert isinstance(items.text, nn.Linear)
    seen = items.seen[:, 0] > 0
    weight, bias = principal_map(items.embeddings[seen], half)
    items.text.weight.zero_()
    items.text.bias.zero_()
    items.text.weight[: len(weight)], items.text.bias[: len(bias)] = weight, bias
    own = own_vectors(histories, len(items.embeddings), width - half, config, seed)
    items.own.weight.zero_()
    items.own.weight[:, half : half + own.shape[1]] = own
    network.encoder.query.weight.mul_(0.1)
    network.encoder.query.bias.zero_()


def own_vectors(histories: Histories, n_items: int, width: int, config: WarmStartConfig, seed: int) -> Tensor:
    """float32 [n_items, w <= width]: spectral item vectors, shorter the less is known of an item; zeros if unseen."""
    matrix, counts = co_occurrence(histories, n_items, config.reach)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        rank = min(width, n_items)
        left, values, _ = torch.svd_lowrank(matrix, q=min(rank + 16, n_items), niter=config.iterations)
    vectors = left[:, :rank] * values[:rank].sqrt()
    trust = torch.from_numpy(np.sqrt(counts / (counts + config.shrinkage)).astype(np.float32))
    unit = nn.functional.normalize(vectors.float(), dim=1, eps=1e-9)
    return unit * trust[:, None] * config.scale


def co_occurrence(histories: Histories, n_items: int, reach: int) -> tuple[Tensor, Longs]:
    """Sparse float32 [n, n], degree-normalised, and int64 [n] how often each item occurs."""
    left, right, weights = _pairs(histories, reach)
    rows, columns = np.concatenate((left, right)), np.concatenate((right, left))
    both = np.concatenate((weights, weights))
    degree = np.bincount(rows, both, minlength=n_items) + 5.0
    both = both / np.sqrt(degree[rows] * degree[columns])
    matrix = torch.sparse_coo_tensor(
        torch.from_numpy(np.stack((rows, columns)).astype(np.int64)), torch.from_numpy(both.astype(np.float32)),
        (n_items, n_items), check_invariants=True,
    ).coalesce()  # fmt: skip
    return matrix, np.bincount(histories.items, minlength=n_items)


def _pairs(histories: Histories, reach: int) -> tuple[Longs, Longs, npt.NDArray[np.float64]]:
    """Pairs of different items of one history at most `reach` apart, and the inverse of their distance."""
    user = np.repeat(np.arange(len(histories)), np.diff(histories.offsets))
    items = histories.items.astype(np.int64)
    lefts, rights, weights = [], [], []
    for distance in range(1, reach + 1):
        together = (user[distance:] == user[:-distance]) & (items[distance:] != items[:-distance])
        lefts.append(items[:-distance][together])
        rights.append(items[distance:][together])
        weights.append(np.full(int(together.sum()), 1 / distance))
    return np.concatenate(lefts), np.concatenate(rights), np.concatenate(weights)
