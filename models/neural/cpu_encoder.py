"""The encoder on a CPU without torch: histories to states and query vectors; see `models.neural.encoder`.

Shapes: R histories, T items padded on the right, S = T * tokens positions, d width, H heads.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from models.neural.cpu_kernels import Float32s, Norms, own, softmax_by_head
from models.neural.weights import Weights

Longs = npt.NDArray[np.int64]


class Encoded(NamedTuple):
    """States float32 [R, S, d], and what a prediction starts from: position and query vector, both [R, d]."""

    states: Float32s
    positions: Float32s
    queries: Float32s


@dataclass(frozen=True, slots=True)
class EncoderBlock:
    """Weights of a layer: float32 projections [d, 3 * e] of queries, keys and values, [e, d], [d, f] and [f, d]."""

    attention: Float32s
    out: Float32s
    rise: Float32s
    fall: Float32s

    @classmethod
    def of(cls, weights: Weights, layer: int) -> Self:
        """From the generator's weights; the gains of norms are multiplied in."""
        arrays, prefix = weights.arrays, f"encoder.blocks.{layer}"
        gains = [arrays[f"{prefix}.{name}.weight"][:, None] for name in ("norm_attention", "norm_forward")]
        query = arrays[f"{prefix}.attention.query.weight"].T * weights.config.head_width**-0.5
        attention = np.concatenate([query, arrays[f"{prefix}.attention.key_value.weight"].T], axis=1)
        return cls(
            own(gains[0] * attention),
            own(arrays[f"{prefix}.attention.out.weight"].T),
            own(gains[1] * arrays[f"{prefix}.forward_layer.rise.weight"].T),
            own(arrays[f"{prefix}.forward_layer.fall.weight"].T),
        )


class RelativeBias:
    """A learnt bias by distance; the buckets are those of `models.neural.layers.RelativeBias`.

    Args:
        weights: float32 [buckets, heads].
        two_sided: whether half the buckets are for keys that lie ahead.
    """

    def __init__(self, weights: Float32s, *, two_sided: bool, farthest: int = 128) -> None:
        self._weights, self._two_sided, self._farthest = weights, two_sided, farthest

    def __call__(self, distance: Longs) -> Float32s:
        """float32 [H, ...] from int64 [...], how far the key lies behind the query."""
        return own(np.moveaxis(self._weights[self.bucket(distance)], -1, 0))

    def bucket(self, distance: Longs) -> Longs:
        """int64, same shape: bucket of each distance."""
        each = len(self._weights) // 2 if self._two_sided else len(self._weights)
        ahead = (distance < 0) * each if self._two_sided else 0
        far = np.abs(distance) if self._two_sided else np.maximum(distance, 0)
        exact = each // 2
        growth = np.log((np.maximum(far, 1) / exact).astype(np.float32)) / np.float32(math.log(self._farthest / exact))
        wide = np.minimum(exact + (growth * np.float32(each - exact)).astype(np.int64), each - 1)
        found: Longs = ahead + np.where(far < exact, far, wide)
        return found


class CpuEncoder:
    """An encoder from weights."""

    def __init__(self, weights: Weights) -> None:
        arrays, config = weights.arrays, weights.config
        self.config, self.norms = config, Norms(config.norm)
        self.blocks = tuple(EncoderBlock.of(weights, layer) for layer in range(config.encoder_layers))
        self.gain = arrays["encoder.norm.weight"]
        self.query, self.query_bias = own(arrays["encoder.query.weight"].T), arrays["encoder.query.bias"]
        self.bias = RelativeBias(arrays["encoder.bias.weight"], two_sided=not config.causal)
        if config.causal:
            self.recency = RelativeBias(arrays["encoder.recency.weight"], two_sided=False)

    def __call__(self, items: Float32s, lengths: Longs) -> Encoded:
        """From float32 [R, T, tokens, d + k] item vectors and int64 [R] numbers of items."""
        requests, _, tokens, _ = items.shape
        body = own(items[..., : self.config.width])
        if self.config.tail_width:
            body /= np.linalg.norm(body, axis=-1, keepdims=True)
        flat, ends = body.reshape(requests, -1, self.config.width), lengths * tokens
        states = self._states(flat, ends)
        if not self.config.causal:
            inside = np.arange(flat.shape[1]) < ends[:, None]
            positions = (states * inside[..., None]).sum(1) / ends[:, None].astype(np.float32)
            return Encoded(states, positions, _unit(positions @ self.query + self.query_bias))
        positions = states[np.arange(requests), ends - 1]
        recent = np.stack([self._recent(rows[:end]) for rows, end in zip(flat, ends, strict=True)])
        return Encoded(states, positions, _unit(positions @ self.query + self.query_bias + recent))

    def _states(self, flat: Float32s, ends: Longs) -> Float32s:
        requests, size, width = flat.shape
        place = np.arange(size)
        bias = self._masked(self.bias(place[:, None] - place), requests, ends)  # [R, S, H, S]
        x = (flat * np.float32(math.sqrt(width))).reshape(-1, width)
        for block in self.blocks:
            parts = (self.norms(x) @ block.attention).reshape(requests, size, 3, self.config.heads, -1)
            query, keys, values = parts.transpose(2, 0, 3, 1, 4)  # each [R, H, S, head_width]
            scores = own((query @ keys.transpose(0, 1, 3, 2)).transpose(0, 2, 1, 3))  # [R, S, H, S]
            softmax_by_head(scores.reshape(requests * size, 1, -1), bias)
            mixed = scores.transpose(0, 2, 1, 3) @ values
            x += mixed.transpose(0, 2, 1, 3).reshape(len(x), -1) @ block.out
            wide = self.norms(x) @ block.rise
            x += np.maximum(wide, 0, out=wide) @ block.fall
        return (self.norms(x) * self.gain).reshape(requests, size, width)

    def _masked(self, bias: Float32s, requests: int, ends: Longs) -> Float32s:
        """[R * S, H, S] from [H, S, S]; -inf where a position may not look."""
        size = bias.shape[1]
        place = np.arange(size)
        if self.config.causal:
            visible = np.broadcast_to(place[:, None] >= place, (requests, size, size))
        else:
            visible = np.broadcast_to((place < ends[:, None])[:, None], (requests, size, size))
        hidden = np.where(visible, np.float32(0), np.float32(-np.inf))
        return own(bias.transpose(1, 0, 2)[None] + hidden[:, :, None]).reshape(requests * size, -1, size)

    def _recent(self, rows: Float32s) -> Float32s:
        """[d]: weighted mean of item vectors [n, d], seen from the last one."""
        weights = self.recency(np.arange(len(rows))[::-1].astype(np.int64))[0]
        weights = np.exp(weights - weights.max())
        mean: Float32s = (weights / weights.sum()) @ rows
        return mean


def _unit(vectors: Float32s) -> Float32s:
    unit: Float32s = vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), np.float32(1e-12))
    return unit
