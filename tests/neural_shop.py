"""Artifacts of an untrained network for any shop: lists of no merit that obey every rule."""

import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import faiss
import numpy as np
import torch

from models.bundle import layout
from models.bundle.writer import BundleWriter
from models.neural.config import NetworkConfig, Preset, TrainingConfig, network_preset
from models.neural.network import Network
from models.neural.semantic_ids import IdConfig, SemanticIds, kmeans_ids
from offline.training.export import export_query_encoder, write_generator
from offline.training.semantic import write_semantic_ids

CONFIG = TrainingConfig(history=6)
IDS = IdConfig(codebook=4)
OF_THE_SHOP = ("decoder.code", "decoder.heads", "items")
"""Weights whose shapes depend on the shop; none of them is in the graph."""


def small(text_width: int, codebooks: tuple[int, ...]) -> NetworkConfig:
    """A network of a few thousand weights."""
    return replace(
        network_preset(Preset.COMPACT, text_width=text_width, codebooks=codebooks),
        width=16, tail_width=4, heads=2, head_width=8, feed_forward=16, encoder_layers=1, decoder_layers=1,
    )  # fmt: skip


def network_for(embeddings: np.ndarray, popularity: np.ndarray, ids: SemanticIds) -> Network:
    """Random weights, those of the graph the same for every shop."""
    torch.manual_seed(0)
    codes, seen = torch.from_numpy(ids.codes).long(), torch.from_numpy(popularity > 0)
    network = Network(small(embeddings.shape[1], ids.codebooks), torch.from_numpy(embeddings), codes, seen)
    network.load_state_dict(shared_weights(), strict=False)
    return network.eval()


def a_network() -> Network:
    """Any such network."""
    codes = torch.tensor([[0, 0, 0, 0], [1, 0, 0, 0]])
    return Network(small(2, (4, 4, 4, 1)), torch.eye(2), codes, torch.ones(2, dtype=torch.bool)).eval()


@cache
def shared_weights() -> dict[str, torch.Tensor]:
    """Random weights of what the graph holds."""
    torch.manual_seed(1)
    state = a_network().state_dict()
    return {name: value for name, value in state.items() if not name.startswith(OF_THE_SHOP)}


@cache
def query_encoder() -> Path:
    """The ONNX file of those weights, exported once a session."""
    path, network = Path(mkdtemp()) / layout.QUERY_ENCODER, a_network()
    network.load_state_dict(shared_weights(), strict=False)
    export_query_encoder(network, CONFIG.history, path)
    return path


def add_neural(writer: BundleWriter, embeddings: np.ndarray, popularity: np.ndarray) -> None:
    """What dr, dr-prior, fused, gr, id-last and id+sem need."""
    ids = kmeans_ids(embeddings, np.ones(len(embeddings), np.bool_), IDS)
    network = network_for(embeddings, popularity, ids)
    with torch.inference_mode():
        vectors = network.items.served_vectors().numpy()
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    faiss.write_index(index, str(writer.folder / layout.INDEX))
    shutil.copyfile(query_encoder(), writer.folder / layout.QUERY_ENCODER)
    write_generator(network, CONFIG, writer.folder / layout.GENERATOR)
    write_semantic_ids(writer, ids, IDS)
    writer.add_array(layout.ITEM_VECTORS, vectors)
    factors = np.random.default_rng(0).choice(np.array([-0.5, 0.5], np.float32), (len(vectors), 4))
    factors[popularity == 0] = 0
    writer.add_array(layout.ID_VECTORS, factors)
    writer.section("training", {"config": CONFIG.facts()})
