"""What a generator makes of a history as an ONNX graph, so that a CPU needs no torch to decode."""

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


def _stacked(pairs: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    return torch.stack([keys for keys, _ in pairs]), torch.stack([values for _, values in pairs])


def export_generator_start(encoder: Encoder, decoder: Decoder, path: Path) -> None:
    """Write the graph, for any number of requests and history length."""
    config = encoder.config
    items = torch.randn(2, 3, config.tokens_per_item, config.vector_width)
    inputs = {"items": (items, {0: REQUESTS, 1: TIME}), "lengths": (torch.tensor([2, 3]), {0: REQUESTS})}
    outputs = ["output", "memory_keys", "memory_values", "bias", "past_keys", "past_values"]
    to_onnx(StartGraph(encoder, decoder), path, inputs, outputs)


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
