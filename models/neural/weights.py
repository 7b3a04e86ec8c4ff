"""Generator weights as arrays, and the configuration that lies in their header."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import safe_open

from models.bundle import layout
from models.bundle.reader import Bundle
from models.neural.config import NetworkConfig

HEADER = "config"
"""Key of the header whose value is JSON: fields of the network, and `history`, the newest items that count."""


@dataclass(frozen=True, slots=True)
class Weights:
    """float32 arrays by name, `encoder.*` and `decoder.*`."""

    arrays: dict[str, npt.NDArray[np.float32]]
    config: NetworkConfig
    history: int


def read_weights(path: Path) -> Weights:
    """Read a generator's file."""
    with safe_open(path, framework="np") as file:
        facts: dict[str, Any] = json.loads(file.metadata()[HEADER])
        arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    return Weights(arrays, NetworkConfig.of(facts["network"]), int(facts["history"]))


def encoder_inputs(bundle: Bundle) -> npt.NDArray[np.float32]:
    """float32 [n, tokens, d]: items as the encoder takes them in."""
    name = layout.QUERY_INPUTS if bundle.has(layout.QUERY_INPUTS) else layout.ITEM_VECTORS
    inputs = bundle.array(name)
    return inputs if inputs.ndim == 3 else inputs[:, None]
