"""The generative readout: codes of the next item one after another, each seeing those before it and the history."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from models.neural.config import NetworkConfig
from models.neural.dropout import Dropout
from models.neural.encoder import Encoded
from models.neural.layers import DecoderBlock, KeysValues, RelativeBias, hidden, norm


class Decoder(nn.Module):
    """Teaching (all levels of all positions at once), and the pieces of a step-by-step search.

    Shapes as in `models.neural.network`; N prefixes a row.
    """

    offsets: Tensor

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        self.code = nn.Embedding(sum(config.codebooks), config.width)
        nn.init.normal_(self.code.weight, std=0.02)
        self.register_buffer("offsets", torch.tensor((0, *config.codebooks[:-1])).cumsum(0), persistent=False)
        self.place = nn.Parameter(torch.zeros(len(config.codebooks), config.width))
        self.start = nn.Linear(config.width, config.width)
        self.aim = nn.Linear(config.width, config.width, bias=False)
        self.bias = RelativeBias(config.heads, two_sided=False)
        self.memory_norm, self.norm = norm(config), norm(config)
        self.blocks = nn.ModuleList([DecoderBlock(config) for _ in range(config.decoder_layers)])
        self.heads = nn.ModuleList([nn.Linear(config.width, codes) for codes in config.codebooks])
        self.dropout = Dropout(config.decoder_dropout)

    def memory(self, states: Tensor) -> list[KeysValues]:
        """Keys and values of the history for every layer: made once a request."""
        states = self.memory_norm(states)
        return [block.cross_attention.keys_values(states) for block in self._blocks()]

    def _blocks(self) -> list[DecoderBlock]:
        return [block for block in self.blocks if isinstance(block, DecoderBlock)]

    def first(self, positions: Tensor, queries: Tensor) -> Tensor:
        """Decoder input [..., d] before any code, from the encoder's positions and query vectors [..., d]."""
        aim = self.aim(queries * math.sqrt(self.config.width))
        return self.start(positions) + aim + self.place[0]  # type: ignore[no-any-return]

    def following(self, codes: Tensor, level: int) -> Tensor:
        """Decoder input [..., d] after int64 [...] codes of `level`."""
        return self.code(codes + self.offsets[level]) + self.place[level + 1]  # type: ignore[no-any-return]

    def forward(
        self, x: Tensor, memory: Sequence[KeysValues], bias: Tensor, past: Sequence[KeysValues] | None = None
    ) -> tuple[Tensor, list[KeysValues]]:
        """[B, N, L', d] new inputs of N prefixes a row to outputs of the same shape; arguments as in `DecoderBlock`."""
        kept = []
        for i, block in enumerate(self.blocks):
            x, now = block(x, memory[i], bias, None if past is None else past[i])
            kept.append(now)
        return self.norm(x), kept

    def teach(self, encoded: Encoded, lengths: Tensor, codes: Tensor) -> Tensor:
        """Outputs [B, P, L, d] where every level is given the true codes int64 [B, P, L] before it."""
        given = [self.following(codes[..., level], level) for level in range(codes.shape[-1] - 1)]
        x = self.dropout(torch.stack([self.first(encoded.positions, encoded.queries), *given], dim=2))
        bias = self._teaching_bias(lengths, encoded.states.shape[1], codes.shape[-1])
        outputs: Tensor = self(x, self.memory(encoded.states), bias)[0]
        return outputs

    def _teaching_bias(self, lengths: Tensor, size: int, levels: int) -> Tensor:
        if not self.config.causal:
            return self.history_bias(lengths, size)
        place = torch.arange(size, device=lengths.device)
        distance = (place[:, None] - place).repeat_interleave(levels, dim=0)  # [P * L, S]
        bias: Tensor = self.bias(distance) + hidden(distance >= 0)
        return bias[None]

    def history_bias(self, lengths: Tensor, size: int) -> Tensor:
        """[B, H, 1, S]: bias of a query that stands at the end of each history."""
        tokens = lengths * self.config.tokens_per_item
        distance = tokens[:, None] - 1 - torch.arange(size, device=lengths.device)  # [B, S]
        bias: Tensor = self.bias(distance[:, None]) + hidden(distance >= 0)[:, None, None]
        return bias
