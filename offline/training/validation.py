"""How well the network finds held-out items while it trains: DR over the whole catalogue, seen items included."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from models.neural.network import Network
from models.neural.query import QueryEncoder
from models.retrieval import Items
from offline.training.histories import Histories

ROWS = 512


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Histories and int32 [n] the item that followed each."""

    histories: Histories
    targets: Items


@dataclass(frozen=True, slots=True)
class Score:
    """Measures over all held-out users, fractions."""

    ndcg_10: float
    recall_10: float
    recall_50: float


@torch.inference_mode()
def validate(network: Network, held_out: HeldOut, history: int) -> Score:
    """Rank every target among all items; the network is in evaluation mode."""
    vectors, inputs = network.items.served_vectors(), network.items.served_inputs()
    order = np.argsort(np.diff(held_out.histories.offsets), kind="stable")
    ranks = np.empty(len(order), np.int64)
    for rows in np.array_split(order, max(1, len(order) // ROWS)):
        histories = [held_out.histories.sequence(row)[-history:] for row in rows]
        queries = encode(network, inputs, histories)
        targets = torch.from_numpy(held_out.targets[rows].astype(np.int64)).to(vectors.device)
        ranks[rows] = _ranks(queries @ vectors.T, targets).cpu().numpy()
    return score(ranks)


def encode(network: Network, inputs: Tensor, histories: list[Items]) -> Tensor:
    """Query vectors [B, d] of histories."""
    lengths = torch.tensor([len(history) for history in histories], device=inputs.device)
    items = torch.zeros(len(histories), int(lengths.max()), dtype=torch.int64)
    for row, history in enumerate(histories):
        items[row, : len(history)] = torch.from_numpy(history.astype(np.int64))
    queries: Tensor = QueryEncoder(network.encoder)(inputs[items.to(inputs.device)], lengths)
    return queries


def score(ranks: npt.NDArray[np.int64]) -> Score:
    """Measures from 0-based ranks.

    >>> score(np.array([0, 2, 30, 400]))
    Score(ndcg_10=0.375, recall_10=0.5, recall_50=0.75)
    """
    gains = np.where(ranks < 10, 1 / np.log2(ranks + 2.0), 0.0)
    return Score(float(gains.mean()), float((ranks < 10).mean()), float((ranks < 50).mean()))


def _ranks(scores: Tensor, targets: Tensor) -> Tensor:
    return (scores > scores.gather(1, targets[:, None])).sum(1)
