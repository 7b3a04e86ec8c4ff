"""The query encoder as it is exported: histories of any lengths packed end to end.

What concerns single items is computed for those that are there and for no padding, and the last layer of a causal
encoder for the last items only. Sums over a history are matrix products over slots, whose number is a multiple of
`packing.SLOTS`: what pads a history then adds exact zeros in whole steps of the kernels, and a query vector does not
depend on what it is encoded with.

Shapes: B histories, P items in all, S slots; d width, k tail, H heads, w head_width, e = H * w.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from models.neural.encoder import Encoder
from models.neural.layers import EncoderBlock, hidden
from models.neural.packing import slots_for
from models.neural.tail import body_of, unit, with_tail


class PackedQueryEncoder(nn.Module):
    """What `models.neural.query.QueryEncoder` computes, for serving.

    Args:
        encoder: its weights.
        history: the longest history, in items.
    """

    bias: Tensor
    recency: Tensor
    fading: Tensor

    def __init__(self, encoder: Encoder, history: int) -> None:
        super().__init__()
        config = encoder.config
        self.encoder = encoder
        place = torch.arange(slots_for(history * config.tokens_per_item))
        behind = place[:, None] - place
        ahead = hidden(behind >= 0)
        self.register_buffer("bias", encoder.bias(behind) + ahead if config.causal else encoder.bias(behind))
        if config.causal:
            self.register_buffer("recency", (encoder.recency(behind)[0] + ahead).softmax(-1))
        fading = torch.exp2(-behind.clamp(min=0).float()) * (behind >= 0)
        self.register_buffer("fading", fading / fading.sum(1, keepdim=True))

    def forward(self, items: Tensor, places: Tensor, rows: Tensor, lengths: Tensor) -> Tensor:
        """Unit vectors [B, d + k].

        Args:
            items: float [P, tokens, d + k], one history after another.
            places: int64 [B, S]: the packed token of each slot, any one where the history has ended.
            rows: int64 [P * tokens, 2]: the history of each token and its slot there.
            lengths: int64 [B]: tokens of each history.
        """
        config = self.encoder.config
        body = body_of(items, config).flatten(0, 1)  # [P * tokens, d]
        query = self._query(body, places, rows, lengths)
        if not config.tail_width:
            return query
        tails = unit(items[:, 0, config.width :])
        return with_tail(query, _mean(tails, places, self.fading, lengths), config.tail_weight)

    def _query(self, body: Tensor, places: Tensor, rows: Tensor, lengths: Tensor) -> Tensor:
        encoder, config, slots = self.encoder, self.encoder.config, places.shape[1]
        x, bias = body * math.sqrt(config.width), self.bias[:, :slots, :slots]
        layers = [PackedBlock(block, config.heads) for block in encoder.blocks]
        if not config.causal:
            inside = torch.arange(slots) < lengths[:, None]
            for layer in layers:
                x = layer.everywhere(x, places, rows, bias + hidden(inside)[:, None, None])
            means = inside.float()[:, None] @ encoder.norm(x)[places]
            return unit(encoder.query(means[:, 0] / lengths[:, None]))
        for layer in layers[:-1]:
            x = layer.everywhere(x, places, rows, bias)
        newest = places.gather(1, lengths[:, None] - 1)[:, 0]
        x = layers[-1].at(newest, x, places, self.bias.transpose(0, 1)[lengths - 1][:, :, :slots])
        recent = _mean(body, places, self.recency, lengths)
        return unit(encoder.query(encoder.norm(x)) + recent)


class PackedBlock:
    """A layer over packed positions x [P * tokens, d].

    Args:
        block: its weights.
        heads: H.
    """

    def __init__(self, block: nn.Module, heads: int) -> None:
        assert isinstance(block, EncoderBlock)
        self.block, self.heads = block, heads
        query, key_value = block.attention.query.weight, block.attention.key_value.weight
        self.query = query * (len(query) // heads) ** -0.5
        self.key_value, self.width = key_value, len(query) // heads

    def everywhere(self, x: Tensor, places: Tensor, rows: Tensor, bias: Tensor) -> Tensor:
        """All positions after the layer."""
        y = functional.linear(self.block.norm_attention(x), torch.cat((self.query, self.key_value)))
        parts = y.view(-1, self.width)  # [P * tokens * 3 * H, w]
        query, keys, values = (self._in_slots(parts, places, part, 3) for part in range(3))
        mixed = ((query @ keys.transpose(2, 3) + bias).softmax(-1) @ values).reshape(-1, self.width)  # [B * H * S, w]
        owner, slot = rows.unbind(1)
        back = (owner[:, None] * self.heads + torch.arange(self.heads)) * places.shape[1] + slot[:, None]
        return self._rest(x, mixed.index_select(0, back.flatten()).view(x.shape[0], -1))

    def at(self, newest: Tensor, x: Tensor, places: Tensor, bias: Tensor) -> Tensor:
        """Positions int64 [B] alone after the layer, [B, d].

        A single query attends, so it is cheaper to take the query into the space of the positions than all positions
        into that of the keys, and to mix positions before they become values: (W_q x)' (W_k y) = (W_k' W_q x)' y.
        """
        y = self.block.norm_attention(x)
        context = y[places]  # [B, S, d]
        keys, values = self.key_value.view(2, self.heads, self.width, -1)
        queries = functional.linear(y[newest], self.query).chunk(self.heads, 1)
        turned = torch.cat([query @ key for query, key in zip(queries, keys, strict=True)], 1)
        turned = turned.view(-1, self.heads, y.shape[1])
        mixed = (turned @ context.transpose(1, 2) + bias).softmax(-1) @ context
        parts = mixed.flatten(1).chunk(self.heads, 1)
        heads = [functional.linear(part, value) for part, value in zip(parts, values, strict=True)]
        return self._rest(x[newest], torch.cat(heads, 1))

    def _in_slots(self, parts: Tensor, places: Tensor, part: int, of: int) -> Tensor:
        """[B, H, S, w]: one of so many parts that lie beside each other."""
        b, slots = places.shape
        index = (places[:, None] * of + part) * self.heads + torch.arange(self.heads)[:, None]
        return parts.index_select(0, index.flatten()).view(b, self.heads, slots, self.width)

    def _rest(self, x: Tensor, mixed: Tensor) -> Tensor:
        x = x + self.block.attention.out(mixed)
        y: Tensor = x + self.block.forward_layer(self.block.norm_forward(x))
        return y


def _mean(rows: Tensor, places: Tensor, weights: Tensor, lengths: Tensor) -> Tensor:
    """[B, w] from rows [P, w]: each history's mean, by a table [S, S] of the weights that each position gives."""
    mean: Tensor = (weights[lengths - 1][:, None, : places.shape[1]] @ rows[places])[:, 0]
    return mean
