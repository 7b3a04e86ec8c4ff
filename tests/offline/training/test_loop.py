"""The training loop learns, stops, resumes and repeats itself."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from models.errors import ConfigError
from models.neural.config import Preset
from offline.training import checkpoint as checkpoints
from offline.training.curves import Curves
from offline.training.histories import Batch, Histories
from offline.training.loop import Plan, Training
from offline.training.progress import TrainingProgress
from offline.training.validation import HeldOut
from tests.offline.training.conftest import HERE, QUICK, objective

QUIET = TrainingProgress(quiet=True)


class KilledError(Exception):
    """Stands for the end of the process."""


def weights(training: Training) -> dict[str, torch.Tensor]:
    return {name: value.detach().clone() for name, value in training.network.named_parameters()}


def same(left: dict[str, torch.Tensor], right: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(left[name], right[name]) for name in left)


@pytest.mark.parametrize("preset", list(Preset))
def test_training_learns_where_everyone_goes_next(preset: Preset, histories: Histories, held_out: HeldOut) -> None:
    training = Training(objective(preset=preset), QUICK, Plan(histories, held_out), HERE, QUIET)
    curves = training.run()
    first, last = curves.epochs[0], curves.epochs[-1]
    assert last.dense_loss < first.dense_loss
    assert last.generative_loss < first.generative_loss
    best = curves.best()
    assert best is not None
    assert best.ndcg_10 > 0.4


def test_the_best_weights_are_kept_not_the_last(histories: Histories, held_out: HeldOut) -> None:
    config = replace(QUICK, learning_rate=0.02)
    training = Training(objective(config), config, Plan(histories, held_out), HERE, QUIET)
    training.run()
    assert same(weights(training), training.best)


def test_without_held_out_users_the_last_average_is_kept_and_nothing_is_validated(histories: Histories) -> None:
    training = Training(objective(), QUICK, Plan(histories, stop_after=2), HERE, QUIET)
    curves = training.run()
    assert len(curves.epochs) == 2
    assert curves.best() is None
    assert same(weights(training), training.average.values)


def test_training_stops_when_validation_no_longer_improves(histories: Histories, held_out: HeldOut) -> None:
    config = replace(QUICK, epochs=50, patience=1, learning_rate=0.0)
    curves = Training(objective(config), config, Plan(histories, held_out), HERE, QUIET).run()
    assert len(curves.epochs) == 2


def test_a_killed_training_resumes_to_the_very_same_weights(
    histories: Histories, held_out: HeldOut, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Training(objective(), QUICK, Plan(histories, held_out), HERE, QUIET)
    expected = whole.run()
    plan = Plan(histories, held_out, checkpoints=tmp_path, save_every_s=0.0)
    killed = Training(objective(), QUICK, plan, HERE, QUIET)
    batch, steps = killed._batch, iter(range(9))

    def until_killed(one: Batch, weight: float) -> None:
        if next(steps, None) is None:
            raise KilledError
        batch(one, weight)

    monkeypatch.setattr(killed, "_batch", until_killed)
    with pytest.raises(KilledError):
        killed.run()
    resumed = Training(objective(), QUICK, plan, HERE, QUIET)
    curves = resumed.run()
    assert resumed.step == whole.step
    assert same(weights(resumed), weights(whole))
    assert [epoch.ndcg_10 for epoch in curves.epochs] == [epoch.ndcg_10 for epoch in expected.epochs]


def test_a_checkpoint_of_another_training_is_refused_by_name(histories: Histories, tmp_path: Path) -> None:
    plan = Plan(histories, stop_after=1, checkpoints=tmp_path)
    Training(objective(), QUICK, plan, HERE, QUIET).run()
    other = replace(QUICK, seed=5)
    with pytest.raises(ConfigError, match="training"):
        Training(objective(other), other, plan, HERE, QUIET).run()


def test_a_broken_checkpoint_is_refused_with_its_path(tmp_path: Path) -> None:
    (tmp_path / checkpoints.FILE).write_bytes(b"not a checkpoint")
    with pytest.raises(ConfigError, match=checkpoints.FILE):
        checkpoints.load(tmp_path)


def test_unseen_items_get_no_gradient_in_the_softmax() -> None:
    one = objective()
    one.network.items.seen[3] = 0
    fresh = type(one)(one.network, QUICK)
    items, targets = torch.tensor([[0, 1, 2]]), torch.tensor([[1, 2, 4]])
    fresh(items, torch.tensor([3]), targets).dense  # noqa: B018
    assert 3 not in fresh.training_items.tolist()
    assert fresh.row_of[3] == -1


def test_curves_survive_a_round_trip(histories: Histories, held_out: HeldOut) -> None:
    curves = Training(objective(), QUICK, Plan(histories, held_out, stop_after=1), HERE, QUIET).run()
    assert Curves.of(curves.rows()) == curves
    assert curves.table().num_rows == 1
