"""The steps of beam search on a CPU, without torch."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from models.bundle import layout
from models.bundle.reader import Bundle
from models.neural.cpu_blocks import Block, CodeTable
from models.neural.cpu_encoder import CpuEncoder, Encoded, RelativeBias
from models.neural.cpu_kernels import (
    Float32s,
    Norms,
    add_scores,
    add_values,
    log_softmax,
    own,
    softmax_by_head,
    softmax_last,
)
from models.neural.weights import Weights, encoder_inputs, read_weights

Int32s = npt.NDArray[np.int32]
Head = tuple[Float32s, Float32s]


class CpuDecoder:
    """What searches share; never written to.

    Args:
        weights: of encoder and decoder.
        inputs: float32 [n, tokens, d]: items as the encoder takes them in.
    """

    def __init__(self, weights: Weights, inputs: Float32s) -> None:
        arrays = weights.arrays
        self.config, self.history, self.inputs = weights.config, weights.history, inputs
        self.encoder, self.norms = CpuEncoder(weights), Norms(weights.config.norm)
        self.blocks = tuple(Block.of(weights, layer) for layer in range(self.config.decoder_layers))
        self.bias = RelativeBias(arrays["decoder.bias.weight"], two_sided=False)
        self.begin, self.begin_bias = own(arrays["decoder.start.weight"].T), arrays["decoder.start.bias"]
        self.aim = own(arrays["decoder.aim.weight"].T * math.sqrt(self.config.width))
        places = arrays["decoder.place"]
        self.begin_place = places[0]
        codes = np.split(arrays["decoder.code.weight"], np.cumsum(self.config.codebooks)[:-1])
        following = [table + place for table, place in zip(codes[:-1], places[1:], strict=True)]
        self.tables = tuple(CodeTable.of(inputs, self.blocks[0], self.norms) for inputs in following)
        """What follows each code, by level; none for the last."""
        self.heads = tuple(_head(weights, level) for level in range(len(codes)))
        """Weight float32 [d, codes], with the last norm's gain, and bias [codes] by level."""

    def first(self, encoded: Encoded) -> Float32s:
        """float32 [R, d]: decoder inputs before any code."""
        begun: Float32s = encoded.positions @ self.begin + encoded.queries @ self.aim
        begun += self.begin_bias + self.begin_place
        return begun

    def history_bias(self, lengths: npt.NDArray[np.int64], size: int) -> Float32s:
        """float32 [R, H, S]: bias of a prediction that stands at the end of each history."""
        distance = lengths[:, None] * self.config.tokens_per_item - 1 - np.arange(size)
        hidden = np.where(distance >= 0, np.float32(0), np.float32(-np.inf))
        return own(self.bias(distance).transpose(1, 0, 2) + hidden[:, None])


def _head(weights: Weights, level: int) -> Head:
    gain = weights.arrays["decoder.norm.weight"][:, None]
    matrix = weights.arrays[f"decoder.heads.{level}.weight"].T
    return own(gain * matrix), weights.arrays[f"decoder.heads.{level}.bias"]


def open_decoder(bundle: Bundle) -> CpuDecoder:
    """The decoder of a bundle; NumPy's threads are set for the process."""
    return CpuDecoder(read_weights(bundle.file(layout.GENERATOR)), encoder_inputs(bundle))


@dataclass(slots=True)
class Kept:
    """Keys and values of a layer: [rows, e] for each position so far, and which row each prefix looks at."""

    keys: list[Float32s] = field(default_factory=list)
    values: list[Float32s] = field(default_factory=list)
    rows: list[npt.NDArray[np.intp]] = field(default_factory=list)

    def follow(self, parents: npt.NDArray[np.intp]) -> None:
        """Go on from some of the prefixes."""
        self.rows = [rows[parents] for rows in self.rows]

    def add(self, keys: Float32s, values: Float32s, rows: npt.NDArray[np.intp]) -> None:
        """One more position."""
        self.keys.append(keys)
        self.values.append(values)
        self.rows.append(rows)

    def attended(self, query: Float32s, heads: int) -> Float32s:
        """Self-attention of the newest position, [n, e] from scaled queries [n, e]."""
        weights, out = np.empty((len(query), heads, len(self.rows)), np.float32), np.zeros_like(query)
        for place, (keys, rows) in enumerate(zip(self.keys, self.rows, strict=True)):
            add_scores(query, keys, rows, place, weights)
        softmax_last(weights)
        for place, (values, rows) in enumerate(zip(self.values, self.rows, strict=True)):
            add_values(weights, values, rows, place, out)
        return out


class CpuSteps:
    """One search; see `models.neural.beam.Steps`."""

    def __init__(self, decoder: CpuDecoder) -> None:
        self._decoder = decoder
        self._memory: list[tuple[Float32s, Float32s]] = []
        self._bias: Float32s = np.empty((0, 0, 0), np.float32)
        self._kept = [Kept() for _ in decoder.blocks]

    def start(self, histories: Sequence[Int32s]) -> Float32s:
        """As in `Steps`."""
        decoder = self._decoder
        items, lengths = padded([history[-decoder.history :] for history in histories])
        encoded = decoder.encoder(decoder.inputs[items], lengths)
        requests, size, width = encoded.states.shape
        states = decoder.norms(encoded.states.reshape(-1, width)).reshape(requests, size, width)
        self._memory = [block.facing(states) for block in decoder.blocks]
        self._bias = decoder.history_bias(lengths, size)
        return self._layers(decoder.first(encoded), None, np.arange(requests), requests, 0)

    def step(self, parents: Int32s, codes: Int32s, level: int) -> Float32s:
        """As in `Steps`."""
        requests = len(codes)
        before = len(self._kept[0].rows[0]) // requests
        flat_parents = (parents + np.arange(requests)[:, None] * before).ravel()
        for kept in self._kept:
            kept.follow(flat_parents)
        flat = codes.ravel().astype(np.intp)
        table = self._decoder.tables[level - 1]
        return self._layers(table.inputs[flat], table, flat, requests, level)

    def _layers(
        self, x: Float32s, table: CodeTable | None, codes: npt.NDArray[np.intp], requests: int, level: int
    ) -> Float32s:
        """Log-probabilities [R, W, codebook] from inputs [R * W, d], which are overwritten."""
        norms = self._decoder.norms
        for layer, block in enumerate(self._decoder.blocks):
            x += self._self_attention(x, layer, None if layer else table, codes)
            x += self._cross_attention(x, layer, requests)
            wide = norms(x) @ block.rise
            x += np.maximum(wide, 0, out=wide) @ block.fall
        weight, bias = self._decoder.heads[level]
        logits: Float32s = norms(x) @ weight
        logits += bias
        log_softmax(logits)
        return logits.reshape(requests, -1, logits.shape[1])

    def _self_attention(
        self, x: Float32s, layer: int, table: CodeTable | None, codes: npt.NDArray[np.intp]
    ) -> Float32s:
        block, kept = self._decoder.blocks[layer], self._kept[layer]
        if table is None:
            y = self._decoder.norms(x)
            query = y @ block.query
            kept.add(y @ block.keys, y @ block.values, np.arange(len(x)))
        else:
            query = table.query[codes]
            kept.add(table.keys, table.values, codes)
        return kept.attended(query, self._decoder.config.heads) @ block.out

    def _cross_attention(self, x: Float32s, layer: int, requests: int) -> Float32s:
        keys, values = self._memory[layer]
        weights: Float32s = self._decoder.norms(x).reshape(requests, -1, x.shape[1]) @ keys.transpose(0, 2, 1)
        softmax_by_head(weights, self._bias)
        return (weights @ values).reshape(x.shape)


def padded(histories: Sequence[Int32s]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Items int64 [R, T], padded on the right with 0, and lengths int64 [R]."""
    lengths = np.array([len(history) for history in histories], np.int64)
    items = np.zeros((len(histories), lengths.max()), np.int64)
    for row, history in enumerate(histories):
        items[row, : len(history)] = history
    return items, lengths
