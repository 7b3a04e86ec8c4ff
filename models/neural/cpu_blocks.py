"""The decoder's weights as a CPU wants them, and the small kernels between its matrix products.

Two things are taken out of the steps. What needs no history is made once a bundle: the first layer's queries, keys and
values of every code. What needs no prefix is made once a request: the history's keys seen through the query map and
its values through the output map, which makes attention to the history two small products. Gains of normalisations
lie in the weights that follow them.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from models.kernels import compiled
from models.neural.config import NetworkConfig, Norm
from models.neural.weights import Weights

Float32s = npt.NDArray[np.float32]
EPSILON = {Norm.LAYER: 1e-5, Norm.RMS: float(np.finfo(np.float32).eps)}
"""What torch adds to a variance."""


@dataclass(frozen=True, slots=True)
class Block:
    """Weights of a decoder layer; d width, e heads * head_width, f feed-forward width.

    Attributes:
        query, keys, values: float32 [d, e], of self-attention.
        out: float32 [e, d].
        cross_query: float32 [heads, d, head_width], scaled by 1 / sqrt(head_width).
        cross_out: float32 [heads, head_width, d].
        rise: float32 [d, f].
        fall: float32 [f, d].
    """

    query: Float32s
    keys: Float32s
    values: Float32s
    out: Float32s
    cross_query: Float32s
    cross_out: Float32s
    rise: Float32s
    fall: Float32s

    @classmethod
    def of(cls, weights: Weights, layer: int) -> Self:
        """From the generator's weights."""
        arrays, config, prefix = weights.arrays, weights.config, f"decoder.blocks.{layer}"
        by_gain = [arrays[f"{prefix}.{name}.weight"][:, None] for name in ("norm_self", "norm_cross", "norm_forward")]
        keys_values = arrays[f"{prefix}.self_attention.key_value.weight"].T
        cross_query = by_gain[1] * arrays[f"{prefix}.cross_attention.query.weight"].T * config.head_width**-0.5
        by_head = cross_query.reshape(config.width, config.heads, config.head_width)
        cross_out = arrays[f"{prefix}.cross_attention.out.weight"].T
        return cls(
            query=_own(by_gain[0] * arrays[f"{prefix}.self_attention.query.weight"].T),
            keys=_own(by_gain[0] * keys_values[:, : keys_values.shape[1] // 2]),
            values=_own(by_gain[0] * keys_values[:, keys_values.shape[1] // 2 :]),
            out=_own(arrays[f"{prefix}.self_attention.out.weight"].T),
            cross_query=_own(by_head.transpose(1, 0, 2)),
            cross_out=_own(cross_out.reshape(config.heads, config.head_width, config.width)),
            rise=_own(by_gain[2] * arrays[f"{prefix}.forward_layer.rise.weight"].T),
            fall=_own(arrays[f"{prefix}.forward_layer.fall.weight"].T),
        )

    def facing(self, keys: Float32s, values: Float32s) -> tuple[Float32s, Float32s]:
        """A history's keys through the query map [R, d, H * S] and its values through the output map [R, H * S, d].

        From keys and values [R, H, S, head_width].
        """
        requests, heads, positions, _ = keys.shape
        seen = self.cross_query @ keys.transpose(0, 1, 3, 2)  # [R, H, d, S]
        seen = seen.transpose(0, 2, 1, 3).reshape(requests, -1, heads * positions)
        return _own(seen), (values @ self.cross_out).reshape(requests, heads * positions, -1)


@dataclass(frozen=True, slots=True)
class CodeTable:
    """What the decoder makes of each code of a level before it has seen anything else.

    Attributes:
        inputs: float32 [codes, d].
        query, keys, values: float32 [codes, e]: the first layer's.
    """

    inputs: Float32s
    query: Float32s
    keys: Float32s
    values: Float32s

    @classmethod
    def of(cls, inputs: Float32s, block: Block, config: NetworkConfig) -> Self:
        """From the inputs of all codes."""
        y = normalised(inputs, config.norm is Norm.LAYER, EPSILON[config.norm])
        return cls(inputs, y @ block.query, y @ block.keys, y @ block.values)


def _own(array: npt.NDArray[np.floating]) -> Float32s:
    return np.ascontiguousarray(array, np.float32)


@compiled
def normalised(x: Float32s, centred: bool, epsilon: float) -> Float32s:
    """Rows of x [n, d] by their root mean square, first centred if so wished; no gain."""
    y = np.empty_like(x)
    for row in range(len(x)):
        mean = np.float32(0)
        if centred:
            for i in range(x.shape[1]):
                mean += x[row, i]
            mean /= np.float32(x.shape[1])
        square = np.float32(0)
        for i in range(x.shape[1]):
            square += (x[row, i] - mean) ** 2
        scale = np.float32(1 / np.sqrt(square / x.shape[1] + epsilon))
        for i in range(x.shape[1]):
            y[row, i] = (x[row, i] - mean) * scale
    return y


@compiled
def attend(query: Float32s, keys: Float32s, values: Float32s, heads: int) -> Float32s:
    """Self-attention [n, e] of one new position: query [n, e], keys and values [l, n, e] of all positions so far."""
    positions, rows, inner = keys.shape
    width = inner // heads
    out = np.zeros((rows, inner), np.float32)
    weights = np.empty(positions, np.float32)
    scale = np.float32(1 / np.sqrt(width))
    for row in range(rows):
        for head in range(heads):
            first = head * width
            for place in range(positions):
                score = np.float32(0)
                for i in range(first, first + width):
                    score += query[row, i] * keys[place, row, i]
                weights[place] = score * scale
            weights[:] = np.exp(weights - weights.max())
            weights /= weights.sum()
            for place in range(positions):
                for i in range(first, first + width):
                    out[row, i] += weights[place] * values[place, row, i]
    return out


@compiled
def softmax_by_head(scores: Float32s, bias: Float32s) -> None:
    """Scores [R, W, H * S] plus bias [R, H, S] to weights that sum to 1 over S, in place."""
    requests, heads, positions = bias.shape
    for request in range(requests):
        for row in range(scores.shape[1]):
            for head in range(heads):
                part = scores[request, row, head * positions : (head + 1) * positions]
                part += bias[request, head]
                part[:] = np.exp(part - part.max())
                part /= part.sum()


def log_softmax(logits: Float32s) -> None:
    """Every row of logits [n, codes] to log-probabilities, in place."""
    logits -= logits.max(1, keepdims=True)
    logits -= np.log(np.exp(logits).sum(1, keepdims=True))
