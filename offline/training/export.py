"""What serving needs of a trained network: an ONNX query encoder, generator weights, item vectors."""

import json
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnxruntime
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from models.bundle import layout
from models.bundle.writer import BundleWriter
from models.errors import BundleError
from models.neural.config import ItemTokens, ItemVector, TrainingConfig
from models.neural.network import Network
from models.neural.query import QueryEncoder
from models.neural.weights import HEADER
from offline.training.cold import ColdConfig, lean_on_neighbours
from offline.training.onnx import REQUESTS, TIME, to_onnx

TOLERANCE = 1e-4
"""Largest difference allowed between an ONNX query vector and torch's."""


def export_network(network: Network, config: TrainingConfig, writer: BundleWriter) -> float:
    """Write all artifacts of a trained network; returns the largest difference between ONNX and torch.

    Raises:
        BundleError: the ONNX encoder does not reproduce torch.
    """
    network = network.eval().cpu().float()
    writer.add_array(layout.ITEM_VECTORS, _item_vectors(network, writer))
    if network.config.tokens is ItemTokens.CODES:
        with torch.inference_mode():
            writer.add_array(layout.QUERY_INPUTS, network.items.inputs().numpy())
    write_generator(network, config, writer.folder / layout.GENERATOR)
    return export_query_encoder(network, config.history, writer.folder / layout.QUERY_ENCODER)


@torch.inference_mode()
def _item_vectors(network: Network, writer: BundleWriter) -> npt.NDArray[np.float32]:
    vectors = network.items.served_vectors().numpy()
    if network.config.item_vector is ItemVector.TEXT or not writer.has(layout.TEXT_NEIGHBOURS):
        return vectors
    neighbours, seen = writer.read_array(layout.TEXT_NEIGHBOURS), network.items.seen[:, 0].numpy() > 0
    return lean_on_neighbours(vectors, network.items.embeddings.numpy(), neighbours, seen, ColdConfig())


def export_query_encoder(network: Network, history: int, path: Path) -> float:
    """Write the encoder for any batch and length up to `history`; returns the largest difference from torch.

    Raises:
        BundleError: it exceeds `TOLERANCE`.
    """
    encoder = QueryEncoder(network.encoder).eval()
    shape = (3, min(5, history), network.config.tokens_per_item, network.config.vector_width)
    examples = {"items": (_unit(shape, 0), {0: REQUESTS, 1: TIME}), "lengths": (torch.tensor([1, 2, 3]), {0: REQUESTS})}
    to_onnx(encoder, path, examples, ["queries"])
    return _checked_difference(encoder, history, shape, path)


def _checked_difference(encoder: QueryEncoder, history: int, shape: tuple[int, ...], path: Path) -> float:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    generator = torch.Generator().manual_seed(1)
    largest = 0.0
    for batch, time in ((1, 1), (1, history), (7, history), (2, max(1, history // 2))):
        items = _unit((batch, time, *shape[2:]), batch)
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


def _unit(shape: tuple[int, ...], seed: int) -> Tensor:
    return nn.functional.normalize(torch.randn(shape, generator=torch.Generator().manual_seed(seed)), dim=-1)


def write_generator(network: Network, config: TrainingConfig, path: Path) -> None:
    """Weights of encoder and decoder, with the configuration in the header."""
    tensors = generator_tensors(network)
    path.unlink(missing_ok=True)
    facts = {"network": network.config.facts(), "history": config.history}
    save_file(tensors, path, {HEADER: json.dumps(facts)})


def generator_tensors(network: Network) -> dict[str, Tensor]:
    """Parameters of encoder and decoder by the names that the generator's file uses."""
    return {
        f"{part}.{name}": value.contiguous()
        for part, module in (("encoder", network.encoder), ("decoder", network.decoder))
        for name, value in module.named_parameters()
    }
