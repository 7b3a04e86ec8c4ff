"""What a training is asked for."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from models.neural.config import Preset, TrainingConfig
from models.neural.semantic_ids import IdConfig
from offline.config import EngineRules
from offline.training.devices import DeviceChoice
from offline.training.index import IndexConfig
from offline.training.warm_start import WarmStartConfig


@dataclass(frozen=True, slots=True)
class TrainRequest:
    """What to train, on what, where.

    Attributes:
        bundles: the bundles root; a new version is derived from its current one.
        interactions: the files that bundle was built from.
        preset: which network.
        config: how it is trained.
        network: fields of the network's configuration that differ from the preset's.
        ids: how semantic IDs are made.
        warm: how training starts, where the preset allows a warm start.
        index: which FAISS index.
        epochs: stop after so many epochs of the schedule; None = validation decides.
        device: where to train.
        threads: of torch and FAISS.
        engine: where blocks of items are computed, each with as many threads.
        checkpoints: folder of checkpoints; None = none are kept.
        activate: make the new version current.
    """

    bundles: Path
    interactions: tuple[Path, ...]
    preset: Preset
    config: TrainingConfig
    network: dict[str, Any] = field(default_factory=dict)
    ids: IdConfig = field(default_factory=IdConfig)
    warm: WarmStartConfig = field(default_factory=WarmStartConfig)
    index: IndexConfig = field(default_factory=IndexConfig)
    epochs: int | None = None
    device: DeviceChoice = DeviceChoice.AUTO
    threads: int = 1
    engine: EngineRules = field(default_factory=EngineRules)
    checkpoints: Path | None = None
    activate: bool = True

    def rules(self) -> EngineRules:
        """Where blocks of items are computed, and by how many threads."""
        return self.engine.model_copy(update={"threads": self.threads})
