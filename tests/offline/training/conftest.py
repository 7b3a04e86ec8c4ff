"""A small world in which the next item is certain: training can be seen to work in seconds."""

import numpy as np
import pytest
import torch

from models.neural.config import NetworkConfig, Preset, TrainingConfig, network_preset
from models.neural.network import Network
from models.neural.semantic_ids import IdConfig, kmeans_ids
from offline.training.devices import Place
from offline.training.histories import Histories
from offline.training.objective import Objective
from offline.training.validation import HeldOut

N_ITEMS = 24
HERE = Place(torch.device("cpu"), torch.float32)
QUICK = TrainingConfig(
    batch=16, epochs=6, warmup_steps=2, learning_rate=0.01, averaging=0.5, history=6, patience=9, id_rate=1.0
)


def walks(seed: int, n: int = 48) -> Histories:
    """Everyone walks on by one item at a time, around the circle of items."""
    generator = np.random.default_rng(seed)
    starts, lengths = generator.integers(0, N_ITEMS, n), generator.integers(3, 7, n)
    rows = [(start + np.arange(length)) % N_ITEMS for start, length in zip(starts, lengths, strict=True)]
    return Histories.of([row.astype(np.int32) for row in rows])


@pytest.fixture
def histories() -> Histories:
    """Training walks."""
    return walks(0)


@pytest.fixture
def held_out() -> HeldOut:
    """Other walks and where they go next."""
    rows = walks(1)
    last = rows.items[rows.offsets[1:] - 1]
    return HeldOut(rows, ((last + 1) % N_ITEMS).astype(np.int32))


def small_network(preset: Preset = Preset.COMPACT, seed: int = 0, dropout: float = 0.1) -> Network:
    """A network of a few thousand weights."""
    from dataclasses import replace

    texts = np.random.default_rng(seed).normal(size=(N_ITEMS, 12)).astype(np.float32)
    texts /= np.linalg.norm(texts, axis=1, keepdims=True)
    ids = kmeans_ids(texts, np.ones(N_ITEMS, np.bool_), IdConfig(codebook=4))
    config: NetworkConfig = replace(
        network_preset(preset, text_width=12, codebooks=ids.codebooks),
        width=16, tail_width=4 * (preset is Preset.COMPACT), heads=2,
        head_width=8, feed_forward=32, encoder_layers=1, decoder_layers=1,
        input_dropout=dropout, block_dropout=dropout, attention_dropout=dropout,
        decoder_dropout=0.0, id_dropout=dropout,
    )  # fmt: skip
    torch.manual_seed(seed)
    seen = torch.ones(N_ITEMS, dtype=torch.bool)
    return Network(config, torch.from_numpy(texts), torch.from_numpy(ids.codes).long(), seen)


def objective(config: TrainingConfig = QUICK, preset: Preset = Preset.COMPACT) -> Objective:
    """The small network with its loss."""
    return Objective(small_network(preset), config)
