"""What serving needs of a trained network: an ONNX query encoder, generator weights, item vectors."""

import json
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from models.bundle import layout
from models.bundle.writer import BundleWriter
from models.errors import BundleError
from models.neural.config import ItemTokens, TrainingConfig
from models.neural.network import Network
from models.neural.packed import PackedQueryEncoder
from models.neural.packing import packed as packed_places
from models.neural.query import QueryEncoder
from models.neural.weights import HEADER
from offline.config import EngineRules
from offline.training.item_vectors import item_vectors
from offline.training.onnx import ITEMS, POSITIONS, REQUESTS, SLOTS, to_onnx

READABLE = 0o644
TOLERANCE = 1e-4
"""Largest difference allowed between an ONNX query vector and torch's."""


def export_network(network: Network, config: TrainingConfig, writer: BundleWriter, rules: EngineRules) -> float:
    """Write all artifacts of a trained network; returns the largest difference between ONNX and torch.

    Raises:
        BundleError: the ONNX encoder does not reproduce torch.
    """
    network = network.eval().cpu().float()
    neighbours = writer.read_array(layout.TEXT_NEIGHBOURS) if writer.has(layout.TEXT_NEIGHBOURS) else None
    writer.add_array(layout.ITEM_VECTORS, item_vectors(network.items, neighbours, rules))
    if network.config.tokens is ItemTokens.CODES:
        with torch.inference_mode():
            writer.add_array(layout.QUERY_INPUTS, network.items.inputs().numpy())
    write_generator(network, config, writer.folder / layout.GENERATOR)
    return export_query_encoder(network, config.history, writer.folder / layout.QUERY_ENCODER)


def export_query_encoder(network: Network, history: int, path: Path) -> float:
    """Write the encoder for any batch and length up to `history`; returns the largest difference from torch.

    Raises:
        BundleError: it exceeds `TOLERANCE`.
    """
    shape = (network.config.tokens_per_item, network.config.vector_width)
    packed = PackedQueryEncoder(network.encoder, history).eval()
    lengths = [min(2, history), min(5, history), 1]
    examples = {"items": _unit((sum(lengths), *shape), 0).numpy(), **packed_places(lengths, shape[0])}
    varying = {"items": {0: ITEMS}, "places": {0: REQUESTS, 1: SLOTS}, "rows": {0: POSITIONS}, "lengths": {0: REQUESTS}}
    inputs = {name: (torch.from_numpy(array), varying[name]) for name, array in examples.items()}
    to_onnx(packed, path, inputs, ["queries"])
    return _checked_difference(QueryEncoder(network.encoder).eval(), history, shape, path)


def _checked_difference(encoder: QueryEncoder, history: int, shape: tuple[int, int], path: Path) -> float:
    """Largest difference of the file's query vectors from those of the plain definition."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    largest = 0.0
    for lengths in ([1], [history], [history, 1, max(1, history // 2)], [1] * 7):
        items = _unit((sum(lengths), *shape), len(lengths))
        found = session.run(None, {"items": items.numpy(), **packed_places(lengths, shape[0])})[0]
        with torch.inference_mode():
            each = [encoder(part[None], torch.tensor([len(part)])) for part in torch.split(items, lengths)]
        largest = max(largest, float(np.abs(found - torch.cat(each).numpy()).max()))
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
    path.chmod(READABLE)  # it is written for its owner alone


def generator_tensors(network: Network) -> dict[str, Tensor]:
    """Parameters of encoder and decoder by the names that the generator's file uses."""
    return {
        f"{part}.{name}": value.contiguous()
        for part, module in (("encoder", network.encoder), ("decoder", network.decoder))
        for name, value in module.named_parameters()
    }
