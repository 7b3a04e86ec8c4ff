"""Saving and resuming a training: one safetensors file, replaced atomically; everything else is JSON in its header.

Dropout and the order of batches depend on seed, epoch and step alone, so a resumed training goes on as if never killed.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor
from torch.optim import Optimizer

from models.errors import ConfigError

FILE = "checkpoint.safetensors"
FACTS = "training"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Tensors by group and name, and plain facts."""

    tensors: dict[str, dict[str, Tensor]]
    facts: dict[str, Any]


def save(folder: Path, checkpoint: Checkpoint) -> None:
    """Write the checkpoint, replacing the one before only when it is whole on the disk."""
    folder.mkdir(parents=True, exist_ok=True)
    flat = {
        f"{group}/{name}": tensor.detach().cpu().contiguous()
        for group, tensors in checkpoint.tensors.items()
        for name, tensor in tensors.items()
    }
    unfinished = folder / f"{FILE}.{os.getpid()}.part"
    save_file(flat, unfinished, {FACTS: json.dumps(checkpoint.facts)})
    with unfinished.open("rb") as file:
        os.fsync(file.fileno())
    unfinished.replace(folder / FILE)


def load(folder: Path) -> Checkpoint | None:
    """The last checkpoint, None where there is none.

    Raises:
        ConfigError: the file is not a checkpoint.
    """
    path = folder / FILE
    if not path.is_file():
        return None
    try:
        with safe_open(path, framework="pt") as file:
            facts = json.loads((file.metadata() or {})[FACTS])
            groups: dict[str, dict[str, Tensor]] = {}
            for key in file.keys():  # noqa: SIM118
                group, name = key.split("/", 1)
                groups.setdefault(group, {})[name] = file.get_tensor(key)
    except (SafetensorError, KeyError, ValueError) as error:
        raise ConfigError(
            str(path), found=str(error), expected="a checkpoint", remedy="Delete it to start training afresh."
        ) from error
    return Checkpoint(groups, facts)


def check_same(checkpoint: Checkpoint, identity: dict[str, Any], folder: Path) -> None:
    """The checkpoint is of this very training.

    Raises:
        ConfigError: configuration or data differ.
    """
    saved = checkpoint.facts["identity"]
    differing = sorted(key for key in identity if saved.get(key) != json.loads(json.dumps(identity[key])))
    if differing:
        key = differing[0]
        raise ConfigError(
            f"{folder / FILE}, {key}",
            found=str(saved.get(key)),
            expected=str(identity[key]),
            remedy="Train with the settings of the checkpoint, or choose another --checkpoints folder.",
        )


def optimiser_tensors(optimiser: Optimizer) -> dict[str, Tensor]:
    """The optimiser's state by parameter number and name."""
    state = optimiser.state_dict()["state"]
    return {f"{number}.{name}": value for number, values in state.items() for name, value in values.items()}


def restore_optimiser(optimiser: Optimizer, tensors: dict[str, Tensor]) -> None:
    """The reverse of `optimiser_tensors`."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        number, name = key.split(".", 1)
        state.setdefault(int(number), {})[name] = value
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
