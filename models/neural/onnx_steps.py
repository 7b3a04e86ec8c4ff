"""The steps of beam search through ONNX Runtime: what a CPU decodes with, without torch."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime

from models.bundle import layout
from models.bundle.reader import Bundle
from models.kernels import compiled
from models.neural.weights import encoder_inputs, read_weights

Float32s = npt.NDArray[np.float32]
Int32s = npt.NDArray[np.int32]


@dataclass(frozen=True)
class OnnxDecoder:
    """What searches share; never written to.

    Attributes:
        start: session of the graph that reads histories.
        step: session of the graph that adds a code.
        inputs: float32 [n, tokens, d]: items as the encoder takes them in.
        following: float32 [codes, d] a level: decoder input after each code.
        heads: weight float32 [d, codes] and bias [codes] a level.
        history: newest items of a history that count.
    """

    start: Any
    step: Any
    inputs: Float32s
    following: tuple[Float32s, ...]
    heads: tuple[tuple[Float32s, Float32s], ...]
    history: int


def open_session(path: Path, threads: int) -> Any:
    """An ONNX Runtime session on the CPU."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def open_decoder(bundle: Bundle, threads: int) -> OnnxDecoder:
    """The decoder of a bundle."""
    weights = read_weights(bundle.file(layout.GENERATOR))
    ends = np.cumsum(weights.config.codebooks)
    tables = np.split(weights.arrays["decoder.code.weight"], ends[:-1])
    places = weights.arrays["decoder.place"][1:]
    levels = range(len(ends))
    heads = [(weights.arrays[f"decoder.heads.{i}.weight"].T, weights.arrays[f"decoder.heads.{i}.bias"]) for i in levels]
    return OnnxDecoder(
        open_session(bundle.file(layout.GENERATOR_START), threads),
        open_session(bundle.file(layout.GENERATOR_STEP), threads),
        encoder_inputs(bundle),
        tuple(table + place for table, place in zip(tables[:-1], places, strict=True)),
        tuple((np.ascontiguousarray(weight), bias) for weight, bias in heads),
        weights.history,
    )


class OnnxSteps:
    """One search; see `models.neural.beam.Steps`."""

    def __init__(self, decoder: OnnxDecoder) -> None:
        self._decoder = decoder
        self._memory: dict[str, Float32s] = {}
        self._past: tuple[Float32s, Float32s] | None = None

    def start(self, histories: Sequence[Int32s]) -> Float32s:
        """As in `Steps`."""
        items, lengths = padded([history[-self._decoder.history :] for history in histories])
        feeds = {"items": self._decoder.inputs[items], "lengths": lengths}
        output, keys, values, bias, *past = self._decoder.start.run(None, feeds)
        self._memory = {"memory_keys": keys, "memory_values": values, "bias": bias}
        self._past = past[0], past[1]
        return self._outcome(output[:, None], 0)

    def step(self, parents: Int32s, codes: Int32s, level: int) -> Float32s:
        """As in `Steps`."""
        assert self._past is not None
        requests = len(parents)
        before = self._past[0].shape[1] // requests
        rows = parents + np.arange(requests, dtype=np.int32)[:, None] * before  # [R, W]
        keys, values = (kept[:, rows] for kept in self._past)
        x = self._decoder.following[level - 1][codes]
        feeds = {"x": x, "past_keys": keys, "past_values": values, **self._memory}
        output, *now = self._decoder.step.run(None, feeds)
        self._past = now[0], now[1]
        return self._outcome(output, level)

    def _outcome(self, output: Float32s, level: int) -> Float32s:
        weight, bias = self._decoder.heads[level]
        logits = output.reshape(-1, weight.shape[0]) @ weight
        log_softmax(logits, bias)
        return logits.reshape(*output.shape[:2], -1)


def padded(histories: Sequence[Int32s]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Items int64 [R, T], padded on the right with 0, and lengths int64 [R]."""
    lengths = np.array([len(history) for history in histories], np.int64)
    items = np.zeros((len(histories), lengths.max()), np.int64)
    for row, history in enumerate(histories):
        items[row, : len(history)] = history
    return items, lengths


@compiled
def log_softmax(logits: Float32s, bias: Float32s) -> None:
    """Add the bias to every row of logits [m, codes] and turn it into log-probabilities, in place."""
    for row in range(len(logits)):
        greatest = -np.inf
        for code in range(logits.shape[1]):
            logits[row, code] += bias[code]
            greatest = max(greatest, logits[row, code])
        total = 0.0
        for code in range(logits.shape[1]):
            total += np.exp(logits[row, code] - greatest)
        shift = np.float32(greatest + np.log(total))
        for code in range(logits.shape[1]):
            logits[row, code] -= shift
