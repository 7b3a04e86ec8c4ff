"""Transformer layers in the manner of T5 (arXiv 1910.10683): pre-norm without biases, relative position biases.

Shapes: B rows, H heads, Q queries, S keys, d width. An attention bias is float [1 or B, H, Q, S], -inf where hidden.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from models.neural.config import NetworkConfig, Norm
from models.neural.dropout import Dropout

KeysValues = tuple[Tensor, Tensor]


def hidden(visible: Tensor) -> Tensor:
    """0 where bool `visible`, -inf elsewhere."""
    return torch.zeros(visible.shape, device=visible.device).masked_fill(~visible, float("-inf"))


def norm(config: NetworkConfig) -> nn.Module:
    """A normalisation with a gain and no bias."""
    return nn.RMSNorm(config.width) if config.norm is Norm.RMS else nn.LayerNorm(config.width, bias=False)


class RelativeBias(nn.Module):
    """A learnt bias for each head and bucket of the distance between a query and a key.

    Near distances have a bucket each, far ones share buckets that widen logarithmically; with `two_sided` half the
    buckets are for keys that lie ahead.
    """

    def __init__(self, heads: int, *, two_sided: bool, buckets: int = 32, farthest: int = 128) -> None:
        super().__init__()
        self.two_sided, self.buckets, self.farthest = two_sided, buckets, farthest
        self.weight = nn.Parameter(torch.zeros(buckets, heads))

    def forward(self, distance: Tensor) -> Tensor:
        """float [..., H, Q, S] from int64 [..., Q, S], how far the key lies behind the query."""
        return self.weight[self.bucket(distance)].movedim(-1, -3)

    @torch.no_grad()
    def decay(self, rate: float) -> None:
        """Start as a bias that falls by `rate` a step of distance, as far as near buckets go."""
        self.weight.copy_(-rate * torch.arange(self.buckets, dtype=torch.float32)[:, None].expand_as(self.weight))

    def bucket(self, distance: Tensor) -> Tensor:
        """int64, same shape: bucket of each distance."""
        each = self.buckets // 2 if self.two_sided else self.buckets
        ahead = (distance < 0).long() * each if self.two_sided else 0
        far = distance.abs() if self.two_sided else distance.clamp(min=0)
        exact = each // 2
        growth = torch.log(far.clamp(min=1) / exact) / math.log(self.farthest / exact)
        wide = (exact + (growth * (each - exact)).long()).clamp(max=each - 1)
        return ahead + torch.where(far < exact, far, wide)


class Attention(nn.Module):
    """Multi-head attention whose keys and values are made apart, so that they can be kept."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        inner = config.heads * config.head_width
        self.heads, self.dropout = config.heads, config.attention_dropout
        self.query = nn.Linear(config.width, inner, bias=False)
        self.key_value = nn.Linear(config.width, 2 * inner, bias=False)
        self.out = nn.Linear(inner, config.width, bias=False)

    def keys_values(self, context: Tensor) -> KeysValues:
        """Two [B, H, S, head_width] from [B, S, d]."""
        b, s, _ = context.shape
        k, v = self.key_value(context).view(b, s, 2, self.heads, -1).permute(2, 0, 3, 1, 4)
        return k, v

    def forward(self, x: Tensor, keys_values: KeysValues, bias: Tensor | None) -> Tensor:
        """[B, Q, d] from [B, Q, d]."""
        b, n, _ = x.shape
        q = self.query(x).view(b, n, self.heads, -1).transpose(1, 2)  # [B, H, Q, head_width]
        if bias is not None:
            bias = bias.to(q.dtype)
        y = functional.scaled_dot_product_attention(
            q, *keys_values, attn_mask=bias, dropout_p=self.dropout if self.training else 0.0
        )
        return self.out(torch.cat(y.unbind(1), dim=-1))  # type: ignore[no-any-return]


class FeedForward(nn.Module):
    """Two linear maps with a nonlinearity and dropout between."""

    def __init__(self, config: NetworkConfig, dropout: float) -> None:
        super().__init__()
        self.rise = nn.Linear(config.width, config.feed_forward, bias=False)
        self.fall = nn.Linear(config.feed_forward, config.width, bias=False)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Same shape as x."""
        return self.fall(self.dropout(functional.relu(self.rise(x))))  # type: ignore[no-any-return]


class EncoderBlock(nn.Module):
    """Self-attention, then a feed-forward layer."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.norm_attention, self.norm_forward = norm(config), norm(config)
        self.attention, self.forward_layer = Attention(config), FeedForward(config, config.block_dropout)
        self.dropout = Dropout(config.block_dropout)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        """[B, S, d] from [B, S, d]."""
        y = self.norm_attention(x)
        x = x + self.dropout(self.attention(y, self.attention.keys_values(y), bias))
        return x + self.dropout(self.forward_layer(self.norm_forward(x)))  # type: ignore[no-any-return]


class DecoderBlock(nn.Module):
    """Self-attention among the codes of one item, attention to the history, then a feed-forward layer."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.norm_self, self.norm_cross = norm(config), norm(config)
        self.norm_forward = norm(config)
        self.self_attention, self.cross_attention = Attention(config), Attention(config)
        self.forward_layer = FeedForward(config, config.decoder_dropout)
        self.dropout = Dropout(config.decoder_dropout)

    def forward(
        self, x: Tensor, memory: KeysValues, cross_bias: Tensor, past: KeysValues | None
    ) -> tuple[Tensor, KeysValues]:
        """One or more code positions of many prefixes.

        Args:
            x: [B, N, L, d]: N prefixes a row, L new positions of each.
            memory: keys and values of the history, [B, H, S, head_width].
            cross_bias: [1 or B, H or 1, N * L or 1, S].
            past: keys and values of earlier positions, [B * N, H, l, head_width]; None at the start.

        Returns:
            [B, N, L, d] and the keys and values of all positions so far.
        """
        b, n, length, d = x.shape
        y = self.norm_self(x).view(b * n, length, d)
        now = self.self_attention.keys_values(y)
        if past is not None:
            now = torch.cat((past[0], now[0]), 2), torch.cat((past[1], now[1]), 2)
        x = x + self.dropout(self.self_attention(y, now, _earlier(length, now[0].shape[2], x.device)).view(x.shape))
        flat = x.view(b, n * length, d)
        flat = flat + self.dropout(self.cross_attention(self.norm_cross(flat), memory, cross_bias))
        flat = flat + self.dropout(self.forward_layer(self.norm_forward(flat)))
        return flat.view(b, n, length, d), now


def _earlier(new: int, total: int, device: torch.device) -> Tensor | None:
    """Bias [1, 1, new, total] that hides later positions; None where a single new position sees all."""
    if new == 1:
        return None
    return hidden(torch.ones(new, total, dtype=torch.bool, device=device).tril(total - new))[None, None]
