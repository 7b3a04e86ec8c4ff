"""The decoder's weights as a CPU wants them.

Two things are taken out of the steps. What needs no history is made once a bundle: the first layer's queries, keys and
values of every code. What needs no prefix is made once a request: the history's keys seen through the query map and
its values through the output map, which makes attention to the history two small products. Gains of normalisations
lie in the weights that follow them.
"""

from dataclasses import dataclass
from typing import Self

from models.neural.cpu_kernels import Float32s, Norms, own
from models.neural.weights import Weights


@dataclass(frozen=True, slots=True)
class Block:
    """Weights of a decoder layer; d width, e heads * head_width, f feed-forward width.

    Attributes:
        query, keys, values: float32 [d, e], of self-attention; queries scaled by 1 / sqrt(head_width).
        out: float32 [e, d].
        cross_keys_values: float32 [d, 2 * e], of attention to the history, applied to its states.
        cross_query: float32 [heads, head_width, d], scaled by 1 / sqrt(head_width).
        cross_out: float32 [heads, head_width, d].
        rise: float32 [d, f].
        fall: float32 [f, d].
    """

    query: Float32s
    keys: Float32s
    values: Float32s
    out: Float32s
    cross_keys_values: Float32s
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
        by_head = cross_query.T.reshape(config.heads, config.head_width, config.width)
        memory_gain = arrays["decoder.memory_norm.weight"][:, None]
        cross_out = arrays[f"{prefix}.cross_attention.out.weight"].T
        return cls(
            query=own(by_gain[0] * arrays[f"{prefix}.self_attention.query.weight"].T * config.head_width**-0.5),
            keys=own(by_gain[0] * keys_values[:, : keys_values.shape[1] // 2]),
            values=own(by_gain[0] * keys_values[:, keys_values.shape[1] // 2 :]),
            out=own(arrays[f"{prefix}.self_attention.out.weight"].T),
            cross_keys_values=own(memory_gain * arrays[f"{prefix}.cross_attention.key_value.weight"].T),
            cross_query=own(by_head),
            cross_out=own(cross_out.reshape(config.heads, config.head_width, config.width)),
            rise=own(by_gain[2] * arrays[f"{prefix}.forward_layer.rise.weight"].T),
            fall=own(arrays[f"{prefix}.forward_layer.fall.weight"].T),
        )

    def facing(self, states: Float32s) -> tuple[Float32s, Float32s]:
        """A history's keys through the query map and its values through the output map, both [R, H * S, d].

        From normalised states [R, S, d].
        """
        requests, positions, _ = states.shape
        heads = len(self.cross_query)
        both = (states @ self.cross_keys_values).reshape(requests, positions, 2, heads, -1)
        keys, values = own(both.transpose(2, 0, 3, 1, 4))  # each [R, H, S, head_width]
        shape = requests, heads * positions, -1
        return (keys @ self.cross_query).reshape(shape), (values @ self.cross_out).reshape(shape)


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
    def of(cls, inputs: Float32s, block: Block, norms: Norms) -> Self:
        """From the inputs of all codes."""
        y = norms(inputs)
        return cls(inputs, y @ block.query, y @ block.keys, y @ block.values)
