"""What serving needs of a trained network: an ONNX query encoder, generator weights, item vectors."""

import json
import logging
import warnings
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.export import Dim

from models.bundle import layout
from models.bundle.writer import BundleWriter
from models.errors import BundleError
from models.neural.config import ItemTokens, TrainingConfig
from models.neural.encoder import Encoder, last
from models.neural.network import Network

TOLERANCE = 1e-4
"""Largest difference allowed between an ONNX query vector and torch's."""


class QueryEncoder(nn.Module):
    """The encoder as serving calls it: the query vector at the end of each history."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, items: Tensor, lengths: Tensor) -> Tensor:
        """[B, d] from float32 [B, T, tokens, d] and int64 [B]."""
        return last(self.encoder(items, lengths).queries, lengths)


def export_network(network: Network, config: TrainingConfig, writer: BundleWriter) -> float:
    """Write all artifacts of a trained network; returns the largest difference between ONNX and torch.

    Raises:
        BundleError: the ONNX encoder does not reproduce torch.
    """
    network = network.eval().cpu().float()
    with torch.inference_mode():
        writer.add_array(layout.ITEM_VECTORS, network.items.vectors(network.items.texts()).numpy())
        if network.config.tokens is ItemTokens.CODES:
            writer.add_array(layout.QUERY_INPUTS, network.items.inputs().numpy())
    write_generator(network, config, writer.folder / layout.GENERATOR)
    return export_query_encoder(network, config.history, writer.folder / layout.QUERY_ENCODER)


def export_query_encoder(network: Network, history: int, path: Path) -> float:
    """Write the encoder for any batch and length up to `history`; returns the largest difference from torch.

    Raises:
        BundleError: it exceeds `TOLERANCE`.
    """
    encoder = QueryEncoder(network.encoder).eval()
    shape = (3, min(5, history), network.config.tokens_per_item, network.config.width)
    example = nn.functional.normalize(torch.randn(shape, generator=torch.Generator().manual_seed(0)), dim=-1)
    path.unlink(missing_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.getLogger("torch.onnx").setLevel(logging.ERROR)
        torch.onnx.export(
            encoder,
            (example, torch.tensor([1, 2, shape[1]])),
            path,
            input_names=["items", "lengths"],
            output_names=["queries"],
            dynamic_shapes={
                "items": {0: Dim("batch", min=1, max=65536), 1: Dim("time", min=1, max=1024)},
                "lengths": {0: Dim("batch", min=1, max=65536)},
            },
            external_data=False,
            dynamo=True,
            verbose=False,
        )
    return _checked_difference(encoder, history, shape, path)


def _checked_difference(encoder: QueryEncoder, history: int, shape: tuple[int, ...], path: Path) -> float:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    generator = torch.Generator().manual_seed(1)
    largest = 0.0
    for batch, time in ((1, 1), (1, history), (7, history), (2, max(1, history // 2))):
        items = nn.functional.normalize(torch.randn(batch, time, *shape[2:], generator=generator), dim=-1)
        lengths = torch.randint(1, time + 1, (batch,), generator=generator)
        lengths[-1] = time
        with torch.inference_mode():
            expected = encoder(items, lengths).numpy()
        found = session.run(None, {"items": items.numpy(), "lengths": lengths.numpy()})[0]
        largest = max(largest, float(np.abs(found - expected).max()))
    if largest > TOLERANCE:
        raise BundleError(
            str(path), found=f"query vectors off by {largest:.1e}", expected=f"at most {TOLERANCE}",
            remedy="Train with the versions of torch and onnx that the package names.",
        )  # fmt: skip
    return largest


def write_generator(network: Network, config: TrainingConfig, path: Path) -> None:
    """Weights of encoder and decoder, with the configuration in the header."""
    tensors = {
        f"{part}.{name}": value.contiguous()
        for part, module in (("encoder", network.encoder), ("decoder", network.decoder))
        for name, value in module.named_parameters()
    }
    path.unlink(missing_ok=True)
    facts = {"network": network.config.facts(), "history": config.history}
    save_file(tensors, path, {"config": json.dumps(facts)})
