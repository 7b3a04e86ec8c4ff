"""One training on given histories: semantic IDs, network, start, loop."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from models.neural.config import changed, network_preset
from models.neural.network import Network
from models.neural.semantic_ids import SemanticIds
from offline.training.curves import Curves
from offline.training.devices import Place
from offline.training.histories import Histories
from offline.training.loop import Plan, Training
from offline.training.objective import Objective
from offline.training.progress import TrainingProgress
from offline.training.request import TrainRequest
from offline.training.semantic import semantic_ids
from offline.training.validation import HeldOut
from offline.training.warm_start import applies, warm_start

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Fitted:
    """A trained network in evaluation mode, its items' IDs and what happened."""

    network: Network
    ids: SemanticIds
    curves: Curves

    def epochs(self) -> int:
        """Epochs that the network's weights have seen: those up to the best validation, else all."""
        best = self.curves.best()
        return best.epoch if best else len(self.curves.epochs)


@dataclass(frozen=True, slots=True)
class Job:
    """Histories to fit, what to validate on, where to stop, where to keep checkpoints."""

    histories: Histories
    held_out: HeldOut | None
    stop_after: int | None
    checkpoints: Path | None


def fit(request: TrainRequest, embeddings: Floats, job: Job, place: Place, progress: TrainingProgress) -> Fitted:
    """Train on some histories.

    Raises:
        BundleError: no item has both a text and an interaction.
        ConfigError: the checkpoint is of another training.
    """
    seen = np.zeros(len(embeddings), np.bool_)
    seen[job.histories.items] = True
    ids = semantic_ids(embeddings, seen, request.ids, request.rules())
    network = _network(request, embeddings, ids, seen)
    if applies(network.config):
        warm_start(network, job.histories, request.warm, request.config.seed)
    objective = Objective(network, request.config).to(place.device)
    plan = Plan(job.histories, job.held_out, job.stop_after, job.checkpoints)
    return Fitted(network, ids, Training(objective, request.config, plan, place, progress).run())


def _network(request: TrainRequest, embeddings: Floats, ids: SemanticIds, seen: npt.NDArray[np.bool_]) -> Network:
    torch.manual_seed(request.config.seed)
    preset = network_preset(request.preset, text_width=embeddings.shape[1], codebooks=ids.codebooks)
    config = changed(preset, request.network)
    texts = torch.from_numpy(np.array(embeddings))
    return Network(config, texts, torch.from_numpy(ids.codes).long(), torch.from_numpy(seen))
