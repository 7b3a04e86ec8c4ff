"""The encoder: histories to states and query vectors.

Shapes: B histories, T items (oldest first, padded on the right), S = T * tokens positions, P predicted positions (T
when causal, else 1), d width.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from models.neural.config import NetworkConfig
from models.neural.dropout import Dropout
from models.neural.layers import EncoderBlock, RelativeBias, hidden, norm


class Encoded(NamedTuple):
    """What the encoder makes of histories."""

    states: Tensor
    """[B, S, d]: what the decoder attends to."""
    positions: Tensor
    """[B, P, d]: what each prediction starts from."""
    queries: Tensor
    """[B, P, d], L2-normalised."""


class Encoder(nn.Module):
    """Histories to states and query vectors.

    A causal encoder adds its answer to a decaying mean of the history's own item vectors, so that before it has learnt
    anything a query already points at what resembles the last items.
    """

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        self.bias = RelativeBias(config.heads, two_sided=not config.causal)
        self.blocks = nn.ModuleList([EncoderBlock(config) for _ in range(config.encoder_layers)])
        self.norm = norm(config)
        self.query = nn.Linear(config.width, config.width)
        self.dropout = Dropout(config.input_dropout)
        if config.causal:
            self.recency = RelativeBias(1, two_sided=False)
            self.recency.decay(math.log(2))

    def forward(self, items: Tensor, lengths: Tensor) -> Encoded:
        """From float [B, T, tokens, d] unit vectors and int64 [B] numbers of items."""
        b, t, tokens, d = items.shape
        flat = items.reshape(b, t * tokens, d)
        place = torch.arange(t * tokens, device=items.device)
        distance = place[:, None] - place
        states = self._states(flat, distance, lengths * tokens)
        if self.config.causal:
            positions, shortcut = states, self._recent(flat, distance)
            return Encoded(states, positions, functional.normalize(self.query(positions) + shortcut, dim=-1))
        positions = _mean(states, lengths * tokens)
        return Encoded(states, positions, functional.normalize(self.query(positions), dim=-1))

    def _states(self, items: Tensor, distance: Tensor, lengths: Tensor) -> Tensor:
        bias = self.bias(distance)[None]
        if self.config.causal:
            bias = bias + hidden(distance >= 0)
        else:
            bias = bias + hidden(_inside(items, lengths))[:, None, None]
        x = self.dropout(items * math.sqrt(self.config.width))
        for block in self.blocks:
            x = block(x, bias)
        return self.norm(x)  # type: ignore[no-any-return]

    def _recent(self, items: Tensor, distance: Tensor) -> Tensor:
        """[B, T, d]: weighted mean of the item vectors up to each position."""
        weights = (self.recency(distance)[0] + hidden(distance >= 0)).softmax(-1)
        recent: Tensor = weights.to(items.dtype) @ items
        return recent


def last(positions: Tensor, lengths: Tensor) -> Tensor:
    """[B, d]: the position that predicts what follows the whole history; from [B, P, d] states or queries."""
    index = (lengths.clamp(max=positions.shape[1]) - 1).view(-1, 1, 1).expand(-1, 1, positions.shape[-1])
    return positions.gather(1, index)[:, 0]


def _inside(states: Tensor, lengths: Tensor) -> Tensor:
    return torch.arange(states.shape[1], device=states.device) < lengths[:, None]


def _mean(states: Tensor, lengths: Tensor) -> Tensor:
    """[B, 1, d]: mean over each history."""
    return (states * _inside(states, lengths)[..., None]).sum(1, keepdim=True) / lengths[:, None, None]
