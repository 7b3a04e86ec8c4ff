"""Training histories as batches: windows of similar length, padded on the right."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from models.neural.config import TrainingConfig
from models.retrieval import Items

Longs = npt.NDArray[np.int64]
NO_TARGET = -1


@dataclass(frozen=True, slots=True)
class Histories:
    """Sequences one after another: sequence u is items[offsets[u]:offsets[u + 1]], oldest first."""

    offsets: Longs
    items: Items

    @classmethod
    def of(cls, sequences: list[Items]) -> "Histories":
        """From a list of int32 arrays."""
        offsets = np.concatenate(([0], np.cumsum([len(sequence) for sequence in sequences]))).astype(np.int64)
        return cls(offsets, np.concatenate(sequences) if sequences else np.empty(0, np.int32))

    def __len__(self) -> int:
        """Number of sequences."""
        return len(self.offsets) - 1

    def sequence(self, row: int) -> Items:
        """int32: one sequence."""
        return self.items[self.offsets[row] : self.offsets[row + 1]]


@dataclass(frozen=True, slots=True)
class Batch:
    """int64 items [B, T], lengths [B], targets [B, P] where `NO_TARGET` marks padding."""

    items: Tensor
    lengths: Tensor
    targets: Tensor

    def to(self, device: torch.device) -> "Batch":
        """The batch on a device."""
        return Batch(*(part.to(device) for part in (self.items, self.lengths, self.targets)))


def epoch_batches(histories: Histories, config: TrainingConfig, *, causal: bool, epoch: int) -> list[list[Items]]:
    """The windows of one epoch in batches, in an order that seed and epoch decide.

    A window holds up to `history` items and the one that follows; long sequences give several, which start at a
    different place each epoch. When causal every position of a window has a target, otherwise only the last, and every
    prefix of a sequence is a window.
    """
    generator = np.random.default_rng([config.seed, epoch])
    windows = []
    for row in range(len(histories)):
        sequence = histories.sequence(row)
        cut = _windows(sequence, config.history, generator) if causal else _prefixes(sequence, config.history)
        windows += [_thinned(window, config.drop_history, generator) for window in cut]
    order = generator.permutation(len(windows))
    lengths = np.array([len(windows[i]) for i in order]) + generator.random(len(order)) * 2
    order = order[np.argsort(lengths, kind="stable")]
    batches = [[windows[i] for i in order[at : at + config.batch]] for at in range(0, len(order), config.batch)]
    return [batches[i] for i in generator.permutation(len(batches))]


def collate(windows: list[Items], *, causal: bool) -> Batch:
    """One batch from windows, each the history and the item that follows."""
    lengths = np.array([len(window) - 1 for window in windows], np.int64)
    items = np.zeros((len(windows), _rounded(int(lengths.max()))), np.int64)
    targets = np.full(items.shape if causal else (len(windows), 1), NO_TARGET, np.int64)
    for row, window in enumerate(windows):
        items[row, : len(window) - 1] = window[:-1]
        targets[row, : len(window) - 1 if causal else 1] = window[1:] if causal else window[-1:]
    return Batch(*(torch.from_numpy(part) for part in (items, lengths, targets)))


def _rounded(length: int) -> int:
    """The next even number: fewer shapes, so that libraries which compile a kernel for each keep fewer."""
    return length + length % 2


def steps_per_epoch(histories: Histories, config: TrainingConfig, *, causal: bool) -> int:
    """Number of batches of the first epoch."""
    return len(epoch_batches(histories, config, causal=causal, epoch=0))


def _windows(sequence: Items, history: int, generator: np.random.Generator) -> Iterator[Items]:
    longest = history + 1
    start = 0 if len(sequence) <= longest else int(generator.integers(0, min(history, len(sequence) - longest) + 1))
    if start:
        yield sequence[: start + 1]
    while len(sequence) - start >= 2:
        yield sequence[start : start + longest]
        start += history


def _prefixes(sequence: Items, history: int) -> Iterator[Items]:
    for end in range(2, len(sequence) + 1):
        yield sequence[max(0, end - history - 1) : end]


def _thinned(window: Items, share: float, generator: np.random.Generator) -> Items:
    """The window without a random share of its items, the last one kept."""
    if not share or len(window) < 4:
        return window
    kept = generator.random(len(window)) >= share * generator.random()
    kept[-1] = True
    return window[kept] if kept.sum() >= 2 else window
