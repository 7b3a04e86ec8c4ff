"""An unlearnt tail of item and query vectors: the leading components of the text, after the learnt part.

What training teaches about who buys what with what wears off from one interaction to the next; resemblance of texts
less so. Training histories hold both, so training itself would give the tail no weight: it has a fixed one, chosen
on held-out items, and takes no part in training.
"""

import math

import torch
from torch import Tensor
from torch.nn import functional

from models.neural.config import NetworkConfig
from models.neural.principal import principal_map


def item_tails(config: NetworkConfig, embeddings: Tensor, seen: Tensor) -> Tensor:
    """float [n, tail_width]: leading components of each text among texts of seen items, unit length; 0 without text."""
    tails = embeddings.new_zeros(len(embeddings), config.tail_width)
    known = embeddings.any(1)
    if config.tail_width and bool((known & seen).any()):
        weight, bias = principal_map(embeddings[known & seen], config.tail_width)
        tails[known, : len(weight)] = functional.normalize(embeddings[known] @ weight.T + bias, dim=-1)
    return tails


def unit(rows: Tensor) -> Tensor:
    """Rows [..., d] at length 1, zero rows as they are; in fewer steps of a graph than `normalize`."""
    found: Tensor = rows / torch.linalg.vector_norm(rows, dim=-1, keepdim=True).clamp_min(1e-12)
    return found


def with_tail(body: Tensor, tail: Tensor, weight: float) -> Tensor:
    """Unit vectors [..., d + k] of unit bodies [..., d] and tails [..., k] of at most unit length."""
    if not tail.shape[-1]:
        return body
    return unit(torch.cat((body, weight * tail), dim=-1))


def body_of(vectors: Tensor, config: NetworkConfig) -> Tensor:
    """The learnt part of vectors [..., d + k], unit length."""
    return unit(vectors[..., : config.width]) if config.tail_width else vectors


def recent_tail(vectors: Tensor, lengths: Tensor, config: NetworkConfig) -> Tensor:
    """[B, k]: mean of the tails of histories [B, T, d + k], each item counting half as much as the one after it."""
    tails = unit(vectors[..., config.width :])
    age = lengths[:, None] - 1 - torch.arange(vectors.shape[1], device=vectors.device)  # [B, T]
    weights = torch.exp(-math.log(2) * age.clamp(min=0)) * (age >= 0)
    return (weights.to(tails.dtype)[..., None] * tails).sum(1) / weights.sum(1, keepdim=True)
