"""The generator as two ONNX graphs, so that a CPU needs no torch to decode: one a request, one a step."""

import logging
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim

from models.neural.decoder import Decoder
from models.neural.encoder import Encoder, last
from models.neural.tail import body_of

REQUESTS = Dim("requests", min=1, max=65536)
TIME = Dim("time", min=1, max=1024)
WIDTH = Dim("width", min=1, max=65536)
PAST = Dim("past", min=1, max=64)
POSITIONS = Dim("positions", min=1, max=4096)


class StartGraph(nn.Module):
    """Histories to the output before the first code, and everything that later steps need of them."""

    def __init__(self, encoder: Encoder, decoder: Decoder) -> None:
        super().__init__()
        self.encoder, self.decoder = encoder, decoder

    def forward(self, items: Tensor, lengths: Tensor) -> tuple[Tensor, ...]:
        """Output [R, d]; memory keys, values [layers, R, H, S, h]; bias [R, H, 1, S]; past keys, values."""
        encoded = self.encoder(body_of(items, self.encoder.config), lengths)
        memory = self.decoder.memory(encoded.states)
        bias = self.decoder.history_bias(lengths, encoded.states.shape[1])
        x = self.decoder.first(last(encoded.positions, lengths), last(encoded.queries, lengths))
        y, past = self.decoder(x[:, None, None], memory, bias)
        return y[:, 0, 0], *_stacked(memory), bias, *_stacked(past)


class StepGraph(nn.Module):
    """One more code: inputs of the prefixes and what was kept, to outputs and what to keep."""

    def __init__(self, decoder: Decoder) -> None:
        super().__init__()
        self.decoder = decoder

    def forward(
        self,
        x: Tensor,
        memory_keys: Tensor,
        memory_values: Tensor,
        bias: Tensor,
        past_keys: Tensor,
        past_values: Tensor,
    ) -> tuple[Tensor, ...]:
        """Output [R, W, d] and kept keys, values [layers, R * W, H, l + 1, h].

        From x [R, W, d], what the start gave, and kept keys, values [layers, R, W, H, l, h].
        """
        layers = range(len(memory_keys))
        memory = [(memory_keys[layer], memory_values[layer]) for layer in layers]
        past = [(past_keys[layer].flatten(0, 1), past_values[layer].flatten(0, 1)) for layer in layers]
        y, now = self.decoder(x[:, :, None], memory, bias, past)
        return y[:, :, 0], *_stacked(now)


def _stacked(pairs: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    return torch.stack([keys for keys, _ in pairs]), torch.stack([values for _, values in pairs])


def export_generator(encoder: Encoder, decoder: Decoder, start: Path, step: Path) -> None:
    """Write both graphs, for any number of requests, history length and beam."""
    config = encoder.config
    items = torch.randn(2, 3, config.tokens_per_item, config.vector_width)
    lengths = torch.tensor([2, 3])
    to_onnx(
        StartGraph(encoder, decoder), start, {"items": (items, {0: REQUESTS, 1: TIME}), "lengths": (lengths, {0:
        REQUESTS})}, ["output", "memory_keys", "memory_values", "bias", "past_keys", "past_values"],
    )  # fmt: skip
    with torch.inference_mode():
        _, memory_keys, memory_values, bias, past_keys, past_values = StartGraph(encoder, decoder)(items, lengths)
    past = [kept[:, :, None].expand(-1, -1, 4, -1, 2, -1).contiguous() for kept in (past_keys, past_values)]
    kept_shape = {1: REQUESTS, 2: WIDTH, 4: PAST}
    to_onnx(
        StepGraph(decoder), step,
        {
            "x": (torch.randn(2, 4, config.width), {0: REQUESTS, 1: WIDTH}),
            "memory_keys": (memory_keys, {1: REQUESTS, 3: POSITIONS}),
            "memory_values": (memory_values, {1: REQUESTS, 3: POSITIONS}),
            "bias": (bias, {0: REQUESTS, 3: POSITIONS}),
            "past_keys": (past[0], kept_shape),
            "past_values": (past[1], kept_shape),
        },
        ["output", "now_keys", "now_values"],
    )  # fmt: skip


def to_onnx(
    module: nn.Module, path: Path, inputs: dict[str, tuple[Tensor, dict[int, Any]]], outputs: list[str]
) -> None:
    """Export a module; `inputs` are examples and the dimensions that vary."""
    path.unlink(missing_ok=True)
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module.eval(),
            tuple(example.clone() for example, _ in inputs.values()),
            path,
            input_names=list(inputs),
            output_names=outputs,
            dynamic_shapes={name: shape for name, (_, shape) in inputs.items()},
            external_data=False,
            dynamo=True,
            verbose=False,
        )
