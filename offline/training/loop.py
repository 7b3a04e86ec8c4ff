"""The training loop: epochs of batches, validation, early stopping, checkpoints.

A training that goes on from a checkpoint ends as one that was never stopped, and one thread gives the same weights each
time. More threads may add up in another order and so differ in the last bits.
"""

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import AdamW

from models.neural.config import TrainingConfig
from models.retrieval import Items
from offline.training import checkpoint as checkpoints
from offline.training.checkpoint import Checkpoint
from offline.training.curves import Curves, Epoch
from offline.training.devices import Place
from offline.training.histories import Batch, Histories, collate, epoch_batches, steps_per_epoch
from offline.training.objective import Losses, Objective
from offline.training.progress import TrainingProgress
from offline.training.schedule import Average, rate
from offline.training.validation import HeldOut, Score, validate

OWN = ("items.own", "items.code", "items.text")
"""Parameters that describe items; they have their own weight decay and learning rate."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to train on and for how long.

    Attributes:
        histories: training sequences.
        held_out: what to validate on; None = train to the end and keep the last weights.
        stop_after: epochs after which to stop although the schedule goes on; None = to the schedule's end.
        checkpoints: folder, None = no checkpoints.
        save_every_s: seconds between checkpoints within an epoch.
    """

    histories: Histories
    held_out: HeldOut | None = None
    stop_after: int | None = None
    checkpoints: Path | None = None
    save_every_s: float = 60.0


class Training:
    """One training from start or checkpoint to end."""

    def __init__(
        self, objective: Objective, config: TrainingConfig, plan: Plan, place: Place, progress: TrainingProgress
    ) -> None:
        self.objective, self.config, self.plan = objective, config, plan
        self.place, self.progress = place, progress
        self.network, self.causal = objective.network, objective.network.config.causal
        self.wrapped = place.wrap(objective)
        self.optimiser = _optimiser(self.network, config, fused=True)
        self.average = Average(self.network, config.averaging)
        self.best: dict[str, Tensor] = {}
        self.curves = Curves()
        self.step, self.epoch, self.done_in_epoch = 0, 0, 0
        self.sums = [0.0, 0.0]
        self.steps_an_epoch = steps_per_epoch(plan.histories, config, causal=self.causal)
        self.total_steps = config.steps or config.epochs * self.steps_an_epoch
        self.saved_at = time.monotonic()

    def run(self) -> Curves:
        """Train; afterwards the network holds the best weights, or the last ones where nothing was held out."""
        self._resume()
        with self.progress.steps(self.total_steps, self.step):
            while not self._finished():
                self._epoch()
        self._keep_best()
        return self.curves

    def _finished(self) -> bool:
        limit = self.plan.stop_after
        over = self.step >= self.total_steps or (limit is not None and self.epoch >= limit)
        return self.place.agree(over or self.curves.validations_since_best() >= self.config.patience)

    def _epoch(self) -> None:
        started = time.monotonic()
        batches = epoch_batches(self.plan.histories, self.config, causal=self.causal, epoch=self.epoch)
        for windows in batches[self.done_in_epoch : self.done_in_epoch + self.total_steps - self.step]:
            mine, weight = share_of(windows, self.place, causal=self.causal)
            self._batch(collate(mine, causal=self.causal).to(self.place.device), weight)
            self._save_now_and_then()
        self._close_epoch(time.monotonic() - started)

    def _batch(self, batch: Batch, weight: float) -> None:
        torch.manual_seed(self.config.seed + 1_000_003 * self.step + self.place.rank)
        share = rate(self.step, self.total_steps, self.config.warmup_steps)
        for group in self.optimiser.param_groups:
            group["lr"] = self.config.learning_rate * group["scale"] * share
        with self.place.autocast():
            losses: Losses = self.wrapped(batch.items, batch.lengths, batch.targets)
        self.optimiser.zero_grad()
        (losses.total * weight).backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.network.parameters(), self.config.clip)
        self.optimiser.step()
        self.average.update(self.step)
        self.step += 1
        self.done_in_epoch += 1
        self.sums = [self.sums[0] + losses.dense.item(), self.sums[1] + losses.generative.item()]
        self.progress.step(self.step, self.sums[0] / self.done_in_epoch, self.curves)

    def _close_epoch(self, seconds: float) -> None:
        dense, generative = (total / max(1, self.done_in_epoch) for total in self.sums)
        self.epoch, self.done_in_epoch, self.sums = self.epoch + 1, 0, [0.0, 0.0]
        score = self._validate()
        record = Epoch(
            self.epoch, self.step, dense, generative, score.ndcg_10, score.recall_10, score.recall_50, seconds
        )
        self.curves.epochs.append(record)
        if self.curves.best() is record:
            self.best = {name: value.clone() for name, value in self.average.values.items()}
        if self.place.leads:
            self.progress.epoch(record, self.curves)
        self._save()

    def _validate(self) -> Score:
        due = self.epoch % self.config.validate_every == 0 or self.step >= self.total_steps
        if self.plan.held_out is None or not self.place.leads or not due:
            return Score(math.nan, math.nan, math.nan)
        with self.average.applied():
            return validate(self.network, self.plan.held_out, self.config.history)

    @torch.no_grad()
    def _keep_best(self) -> None:
        chosen = self.best or self.average.values
        for name, value in self.network.named_parameters():
            value.copy_(chosen[name])
        self.network.eval()

    def _identity(self) -> dict[str, Any]:
        return {
            "network": self.network.config.facts(),
            "training": self.config.facts(),
            "interactions": len(self.plan.histories.items),
            "held_out": len(self.plan.held_out.targets) if self.plan.held_out else 0,
        }

    def _save_now_and_then(self) -> None:
        if time.monotonic() - self.saved_at >= self.plan.save_every_s:
            self._save()

    def _save(self) -> None:
        if self.plan.checkpoints is None or not self.place.leads:
            return
        tensors: dict[str, dict[str, Tensor]] = {
            "network": dict(self.network.named_parameters()),
            "average": self.average.values,
            "best": self.best,
            "optimiser": checkpoints.optimiser_tensors(self.optimiser),
        }
        facts = {
            "identity": self._identity(),
            "position": [self.step, self.epoch, self.done_in_epoch],
            "sums": self.sums,
            "curves": self.curves.rows(),
        }
        checkpoints.save(self.plan.checkpoints, Checkpoint(tensors, facts))
        self.saved_at = time.monotonic()

    @torch.no_grad()
    def _resume(self) -> None:
        saved = checkpoints.load(self.plan.checkpoints) if self.plan.checkpoints else None
        if saved is None or self.plan.checkpoints is None:
            return
        checkpoints.check_same(saved, self._identity(), self.plan.checkpoints)
        for name, value in self.network.named_parameters():
            value.copy_(saved.tensors["network"][name])
            self.average.values[name].copy_(saved.tensors["average"][name])
        device = self.place.device
        self.best = {name: value.to(device) for name, value in saved.tensors.get("best", {}).items()}
        checkpoints.restore_optimiser(self.optimiser, saved.tensors.get("optimiser", {}))
        self.step, self.epoch, self.done_in_epoch = saved.facts["position"]
        self.sums, self.curves = saved.facts["sums"], Curves.of(saved.facts["curves"])
        self.progress.say(f"resumed at step {self.step}, epoch {self.epoch + 1}")


def share_of(windows: list[Items], place: Place, *, causal: bool) -> tuple[list[Items], float]:
    """A process's part of a batch, and the weight of its mean loss.

    Data-parallel training averages gradients over processes; weighted by targets relative to an even share, that is
    the gradient of the mean over the whole batch. A process without a window lends one with weight 0.
    """
    mine = windows[place.rank :: place.processes]
    targets = [sum(len(window) - 1 if causal else 1 for window in part) for part in (mine, windows)]
    return mine or windows[:1], place.processes * targets[0] / targets[1]


def _optimiser(network: nn.Module, config: TrainingConfig, *, fused: bool) -> AdamW:
    """AdamW whose groups differ in learning rate (items, decoder, the rest) and weight decay."""
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    for name, parameter in network.named_parameters():
        groups.setdefault(_treatment(name, parameter, config), []).append(parameter)
    described = [
        {"params": parameters, "scale": scale, "weight_decay": decay} for (scale, decay), parameters in groups.items()
    ]
    return AdamW(described, lr=config.learning_rate, betas=(0.9, 0.98), fused=fused)


def _treatment(name: str, parameter: nn.Parameter, config: TrainingConfig) -> tuple[float, float]:
    """Learning rate relative to the configured one, and weight decay: none on biases, gains and position tables."""
    if name.startswith(OWN):
        return config.id_rate, config.id_weight_decay
    scale = config.decoder_rate if name.startswith("decoder.") else 1.0
    decays = parameter.ndim >= 2 and not name.endswith(("bias.weight", "recency.weight", "place"))
    return scale, config.weight_decay if decays else 0.0
