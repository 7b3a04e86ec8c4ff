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
from models.neural.config import Preset, TrainingConfig, network_preset
from models.neural.network import Network
from models.neural.semantic_ids import IdConfig, kmeans_ids
from offline.training.export import export_query_encoder, write_generator
from offline.training.semantic import write_semantic_ids

CONFIG = TrainingConfig(history=6)
IDS = IdConfig(codebook=4)


def network_for(embeddings: np.ndarray, popularity: np.ndarray) -> tuple[Network, object]:
    """A small network of random weights, the same encoder for every shop of one embedding width, and its IDs."""
    ids = kmeans_ids(embeddings, np.ones(len(embeddings), np.bool_), IDS)
    config = replace(
        network_preset(Preset.COMPACT, text_width=embeddings.shape[1], codebooks=ids.codebooks),
        width=16, heads=2, head_width=8, feed_forward=16, encoder_layers=1, decoder_layers=1,
    )  # fmt: skip
    torch.manual_seed(0)
    codes, seen = torch.from_numpy(ids.codes).long(), torch.from_numpy(popularity > 0)
    network = Network(config, torch.from_numpy(embeddings), codes, seen).eval()
    network.encoder.load_state_dict(encoder_weights(config.width))
    return network, ids


@cache
def encoder_weights(width: int) -> dict[str, torch.Tensor]:
    """Random weights that do not depend on the shop."""
    from models.neural.encoder import Encoder

    config = replace(
        network_preset(Preset.COMPACT, text_width=2, codebooks=(4, 4, 4, 1)),
        width=width, heads=2, head_width=8, feed_forward=16, encoder_layers=1, decoder_layers=1,
    )  # fmt: skip
    torch.manual_seed(1)
    return Encoder(config).state_dict()


@cache
def query_encoder(width: int) -> Path:
    """The ONNX file of that encoder, exported once."""
    embeddings = np.eye(2, dtype=np.float32)
    network, _ = network_for(embeddings, np.ones(2, np.int64))
    path = Path(mkdtemp()) / "encoder.onnx"
    export_query_encoder(network, CONFIG.history, path)
    return path


def add_neural(writer: BundleWriter, embeddings: np.ndarray, popularity: np.ndarray) -> None:
    """What dr, dr-prior, fused, gr, id-last and id+sem need."""
    network, ids = network_for(embeddings, popularity)
    with torch.inference_mode():
        vectors = network.items.vectors(network.items.texts()).numpy()
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    faiss.write_index(index, str(writer.folder / layout.INDEX))
    shutil.copyfile(query_encoder(vectors.shape[1]), writer.folder / layout.QUERY_ENCODER)
    write_generator(network, CONFIG, writer.folder / layout.GENERATOR)
    write_semantic_ids(writer, ids, IDS)
    writer.add_array(layout.ITEM_VECTORS, vectors)
    factors = np.random.default_rng(0).choice(np.array([-0.5, 0.5], np.float32), (len(vectors), 4))
    factors[popularity == 0] = 0
    writer.add_array(layout.ID_VECTORS, factors)
    writer.section("training", {"config": CONFIG.facts()})
