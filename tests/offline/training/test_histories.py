"""Windows and batches of training histories."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from models.neural.config import TrainingConfig
from offline.training.histories import NO_TARGET, Histories, collate, epoch_batches

sequences = st.lists(st.integers(2, 60), min_size=1, max_size=12).map(
    lambda lengths: [np.arange(100 * row, 100 * row + length, dtype=np.int32) for row, length in enumerate(lengths)]
)


def pairs(batches: list, *, causal: bool) -> list[tuple[int, int]]:
    """(item before, target) of every prediction of an epoch."""
    found = []
    for windows in batches:
        batch = collate(windows, causal=causal)
        for items, length, targets in zip(batch.items, batch.lengths, batch.targets, strict=True):
            row = targets[targets != NO_TARGET].tolist()
            before = items[: int(length)].tolist() if causal else [int(items[int(length) - 1])]
            found += list(zip(before, row, strict=True))
    return found


@given(sequences, st.booleans(), st.integers(0, 5))
def test_every_transition_is_predicted_exactly_once_an_epoch(rows: list, causal: bool, epoch: int) -> None:
    config = TrainingConfig(history=7, batch=4)
    batches = epoch_batches(Histories.of(rows), config, causal=causal, epoch=epoch)
    expected = [(int(a), int(b)) for row in rows for a, b in pairwise(row)]
    assert sorted(pairs(batches, causal=causal)) == sorted(expected)
    assert all(len(window) <= 8 for windows in batches for window in windows)


def test_epochs_differ_and_the_same_epoch_comes_again_the_same() -> None:
    histories = Histories.of([np.arange(40, dtype=np.int32), np.arange(9, dtype=np.int32)])
    config = TrainingConfig(history=7, batch=2)
    first, again, other = (epoch_batches(histories, config, causal=True, epoch=epoch) for epoch in (0, 0, 1))
    plain = [[[window.tolist() for window in batch] for batch in batches] for batches in (first, again, other)]
    assert plain[0] == plain[1] != plain[2]


def test_thinning_drops_items_but_never_the_target() -> None:
    histories = Histories.of([np.arange(8, dtype=np.int32)] * 50)
    batches = epoch_batches(histories, TrainingConfig(drop_history=0.9), causal=False, epoch=0)
    longest = [window for batch in batches for window in batch if window[-1] == 7]
    assert len(longest) == 50
    assert any(len(window) < 8 for window in longest)
    assert all(len(window) >= 2 for window in longest)
