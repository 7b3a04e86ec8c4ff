"""The steps of beam search on a CPU, without torch: ONNX Runtime reads the history, NumPy adds the codes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime

from models.bundle import layout
from models.bundle.reader import Bundle
from models.neural.config import NetworkConfig, Norm
from models.neural.cpu_blocks import (
    EPSILON,
    Block,
    CodeTable,
    Float32s,
    attend,
    log_softmax,
    normalised,
    softmax_by_head,
)
from models.neural.weights import Weights, encoder_inputs, read_weights

Int32s = npt.NDArray[np.int32]
Head = tuple[Float32s, Float32s]


@dataclass(frozen=True)
class CpuDecoder:
    """What searches share; never written to.

    Attributes:
        start: ONNX Runtime session of the graph that reads histories.
        inputs: float32 [n, tokens, d]: items as the encoder takes them in.
        config: shape of the network.
        blocks: the decoder's layers.
        tables: what follows each code, by level; none for the last.
        heads: weight float32 [d, codes] and bias [codes] by level; those after the first hold the last norm's gain.
        history: newest items of a history that count.
    """

    start: Any
    inputs: Float32s
    config: NetworkConfig
    blocks: tuple[Block, ...]
    tables: tuple[CodeTable, ...]
    heads: tuple[Head, ...]
    history: int

    @classmethod
    def of(cls, weights: Weights, start: Any, inputs: Float32s) -> "CpuDecoder":
        """From weights, an open start graph and the items' inputs."""
        config, arrays = weights.config, weights.arrays
        blocks = tuple(Block.of(weights, layer) for layer in range(config.decoder_layers))
        codes = np.split(arrays["decoder.code.weight"], np.cumsum(config.codebooks)[:-1])
        places = arrays["decoder.place"][1:]
        tables = [CodeTable.of(c + place, blocks[0], config) for c, place in zip(codes[:-1], places, strict=True)]
        heads = tuple(_head(weights, level) for level in range(len(codes)))
        return cls(start, inputs, config, blocks, tuple(tables), heads, weights.history)


def _head(weights: Weights, level: int) -> Head:
    arrays = weights.arrays
    matrix = arrays[f"decoder.heads.{level}.weight"].T
    gain = arrays["decoder.norm.weight"][:, None] if level else np.float32(1)
    return np.ascontiguousarray(gain * matrix), arrays[f"decoder.heads.{level}.bias"]


def open_session(path: Path, threads: int) -> Any:
    """An ONNX Runtime session on the CPU whose threads sleep when there is nothing to do."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def open_decoder(bundle: Bundle, threads: int) -> CpuDecoder:
    """The decoder of a bundle; `threads` are ONNX Runtime's, those of NumPy are set for the process."""
    start = open_session(bundle.file(layout.GENERATOR_START), threads)
    return CpuDecoder.of(read_weights(bundle.file(layout.GENERATOR)), start, encoder_inputs(bundle))


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
        """Self-attention of the newest position, [n, e] from [n, e]."""
        keys, values = np.empty((2, len(self.rows), *query.shape), np.float32)
        for place, rows in enumerate(self.rows):
            np.take(self.keys[place], rows, axis=0, out=keys[place], mode="clip")
            np.take(self.values[place], rows, axis=0, out=values[place], mode="clip")
        return attend(query, keys, values, heads)


class CpuSteps:
    """One search; see `models.neural.beam.Steps`."""

    def __init__(self, decoder: CpuDecoder) -> None:
        self._decoder = decoder
        self._memory: list[tuple[Float32s, Float32s]] = []
        self._bias: Float32s = np.empty((0, 0, 0), np.float32)
        self._kept: list[Kept] = []

    def start(self, histories: Sequence[Int32s]) -> Float32s:
        """As in `Steps`."""
        decoder = self._decoder
        items, lengths = padded([history[-decoder.history :] for history in histories])
        feeds = {"items": decoder.inputs[items], "lengths": lengths}
        output, keys, values, bias, past_keys, past_values = decoder.start.run(None, feeds)
        self._bias = bias[:, :, 0]
        self._memory = [block.facing(*pair) for block, *pair in zip(decoder.blocks, keys, values, strict=True)]
        requests = np.arange(len(histories))
        for own_keys, own_values in zip(past_keys, past_values, strict=True):
            kept = Kept()
            kept.add(own_keys.reshape(len(requests), -1), own_values.reshape(len(requests), -1), requests)
            self._kept.append(kept)
        return self._log_probabilities(output, 0)[:, None]

    def step(self, parents: Int32s, codes: Int32s, level: int) -> Float32s:
        """As in `Steps`."""
        requests, width = codes.shape
        before = len(self._kept[0].rows[0]) // requests
        flat_parents = (parents + np.arange(requests)[:, None] * before).ravel()
        flat = codes.ravel().astype(np.intp)
        table = self._decoder.tables[level - 1]
        x = table.inputs[flat]
        for layer in range(len(self._decoder.blocks)):
            self._kept[layer].follow(flat_parents)
            x += self._self_attention(x, layer, table if layer == 0 else None, flat)
            x += self._cross_attention(x, layer, requests)
            block = self._decoder.blocks[layer]
            wide = self._norm(x) @ block.rise
            x += np.maximum(wide, 0, out=wide) @ block.fall
        return self._log_probabilities(self._norm(x), level).reshape(requests, width, -1)

    def _self_attention(
        self, x: Float32s, layer: int, table: CodeTable | None, codes: npt.NDArray[np.intp]
    ) -> Float32s:
        block, kept = self._decoder.blocks[layer], self._kept[layer]
        if table is None:
            y = self._norm(x)
            query = y @ block.query
            kept.add(y @ block.keys, y @ block.values, np.arange(len(x)))
        else:
            query = table.query[codes]
            kept.add(table.keys, table.values, codes)
        return kept.attended(query, self._decoder.config.heads) @ block.out

    def _cross_attention(self, x: Float32s, layer: int, requests: int) -> Float32s:
        keys, values = self._memory[layer]
        weights: Float32s = self._norm(x).reshape(requests, -1, x.shape[1]) @ keys
        softmax_by_head(weights, self._bias)
        return (weights @ values).reshape(x.shape)

    def _norm(self, x: Float32s) -> Float32s:
        norm = self._decoder.config.norm
        return normalised(x, norm is Norm.LAYER, EPSILON[norm])

    def _log_probabilities(self, output: Float32s, level: int) -> Float32s:
        weight, bias = self._decoder.heads[level]
        logits: Float32s = output @ weight
        logits += bias
        log_softmax(logits)
        return logits


def padded(histories: Sequence[Int32s]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Items int64 [R, T], padded on the right with 0, and lengths int64 [R]."""
    lengths = np.array([len(history) for history in histories], np.int64)
    items = np.zeros((len(histories), lengths.max()), np.int64)
    for row, history in enumerate(histories):
        items[row, : len(history)] = history
    return items, lengths
