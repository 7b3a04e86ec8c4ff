"""Data-parallel training: two processes reach the weights of one."""

import os
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from models.neural.config import Preset, TrainingConfig
from offline.training.devices import DeviceChoice, Place, place
from offline.training.loop import Plan, Training, share_of
from offline.training.objective import Objective
from offline.training.progress import TrainingProgress
from tests.offline.training.conftest import HERE, QUICK, small_network, walks

ROOT = Path(__file__).resolve().parents[3]
CONFIG = replace(QUICK, epochs=3, batch=7, learning_rate=0.001)


def train(where: Place, preset: Preset, config: TrainingConfig = CONFIG) -> dict[str, torch.Tensor]:
    """Weights after a training without dropout, whose randomness differs between processes."""
    network = small_network(preset, dropout=0.0)
    training = Training(Objective(network, config), config, Plan(walks(0)), where, TrainingProgress(quiet=True))
    training.run()
    return {name: value.detach().clone() for name, value in training.network.named_parameters()}


def one_of_several(preset: str, path: str) -> None:
    """What a process of the group does; the leading one keeps the weights."""
    with place(DeviceChoice.CPU, 1) as where:
        weights = train(where, Preset(preset))
        if where.leads:
            save_file(weights, path)


@pytest.mark.parametrize("preset", list(Preset))
def test_two_processes_give_the_weights_of_one(preset: Preset, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    call = f"from tests.offline.training.test_parallel import one_of_several as f; f({preset.value!r}, 'weights')"
    group = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "PYTHONPATH": str(ROOT)}
    processes = [
        subprocess.Popen([sys.executable, "-P", "-c", call], cwd=tmp_path, env=os.environ | group | {"RANK": rank})
        for rank in "01"
    ]
    assert [process.wait(timeout=120) for process in processes] == [0, 0]
    together, alone = load_file(tmp_path / "weights"), train(HERE, preset)
    start = {name: value.detach() for name, value in small_network(preset).named_parameters()}
    moved, apart = (flat(alone) - flat(start)).norm(), (flat(together) - flat(alone)).norm()
    assert moved > 0.5
    assert apart < 0.05 * moved, f"{apart / moved:.4f}"


def flat(weights: dict[str, torch.Tensor]) -> torch.Tensor:
    return torch.cat([weights[name].ravel() for name in sorted(weights)])


def test_the_shares_of_a_batch_weigh_as_many_targets_as_they_hold() -> None:
    windows = [np.arange(length, dtype=np.int32) for length in (2, 5, 3)]
    places = [Place(HERE.device, HERE.half, rank, 2) for rank in range(2)]
    parts = [share_of(windows, where, causal=True) for where in places]
    assert [[len(window) for window in mine] for mine, _ in parts] == [[2, 3], [5]]
    assert [weight for _, weight in parts] == pytest.approx([2 * 3 / 7, 2 * 4 / 7])
    assert [weight for _, weight in (share_of(windows[:1], where, causal=True) for where in places)] == [2, 0]
