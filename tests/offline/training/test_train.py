"""`shortlist train`, from a bundle to one that serves every retriever."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from models.bundle import layout
from models.bundle.reader import Bundle
from models.dense import Dense
from models.errors import ConfigError
from models.neural.config import Preset, training_preset
from models.neural.query import QueryEncoder
from models.neural.steps import open_network
from models.registry import available, open_retriever
from models.retrieval import Eligible, Query
from models.words import RetrieverName
from offline.build import Request, build
from offline.progress import Reporter
from offline.training.command import configured
from offline.training.progress import TrainingProgress
from offline.training.request import TrainRequest
from offline.training.train import train
from tests.offline.shop import config, inputs

QUIET = TrainingProgress(quiet=True)
ONE_EPOCH = replace(training_preset(Preset.COMPACT), epochs=1, history=4)


def trained(folder: Path, split: str, **changes: object) -> tuple[Bundle, TrainRequest]:
    files = inputs(folder)
    build(Request(folder / "b", config(split=split), files), Reporter(quiet=True))
    request = replace(TrainRequest(folder / "b", files.interactions, Preset.COMPACT, ONE_EPOCH), **changes)
    train(request, QUIET)
    return Bundle.open(folder / "b"), request


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return trained(tmp_path_factory.mktemp("trained"), "leave-last-out")[0]


def test_the_new_version_serves_dr_its_prior_fused_and_gr(bundle: Bundle) -> None:
    wanted = {RetrieverName.DR, RetrieverName.DR_PRIOR, RetrieverName.FUSED, RetrieverName.GR}
    assert wanted <= set(available(bundle))
    for name in wanted:
        found = open_retriever(bundle, name).retrieve(Query(np.array([0, 1], np.int32), 3, Eligible(bundle.n_items)))
        assert len(found.items) == 3


def test_another_user_than_the_trainer_can_read_every_file(bundle: Bundle) -> None:
    unreadable = [name for name in bundle.manifest.files if not (bundle.path / name).stat().st_mode & 0o004]
    assert not unreadable


def test_the_manifest_says_what_was_trained_and_how_well(bundle: Bundle) -> None:
    facts = bundle.manifest.sections["training"]
    assert facts["preset"] == "compact"
    assert facts["seed"] == ONE_EPOCH.seed
    assert facts["epochs"] == 1
    assert facts["onnx_difference"] <= 1e-4
    assert 0 <= facts["validation"]["recall@50"] <= 1
    assert bundle.manifest.sections["index"]["kind"].startswith("flat")
    assert bundle.manifest.sections["semantic_ids"]["collisions"] >= 0
    assert bundle.table(layout.TRAINING_CURVES).num_rows == 1


def test_onnx_queries_equal_those_of_the_generators_encoder(bundle: Bundle) -> None:
    steps, dense = open_network(bundle, "cpu").steps(), Dense(bundle)
    for history in ([0], [3, 1], [0, 1, 2, 3], [4, 0, 1, 2, 3]):
        items = np.array(history, np.int32)
        newest = torch.tensor([history[-4:]])
        with torch.inference_mode():
            expected = QueryEncoder(steps.encoder)(steps.inputs[newest], torch.tensor([newest.shape[1]]))
        np.testing.assert_allclose(dense.encoder.encode([items]), expected.numpy(), atol=1e-4)


def test_cold_items_keep_a_unit_vector(bundle: Bundle) -> None:
    lengths = np.linalg.norm(bundle.array(layout.ITEM_VECTORS), axis=1)
    np.testing.assert_allclose(lengths, 1, atol=1e-5)


def test_a_bundle_on_all_interactions_trains_on_all_for_as_many_epochs_as_a_split_chose(tmp_path: Path) -> None:
    bundle, _ = trained(tmp_path, "none", checkpoints=tmp_path / "c")
    facts = bundle.manifest.sections["training"]
    assert "split" in facts["epochs_chosen_by"]
    assert facts["epochs"] == 1
    assert facts["validation"] is None
    assert sorted(path.name for path in (tmp_path / "c").iterdir()) == ["full", "trial"]


def test_settings_are_read_with_their_types_and_odd_ones_are_refused() -> None:
    plain = training_preset(Preset.COMPACT)
    training, network = configured(Preset.COMPACT, ["batch=8", "smoothing=1", "encoder_layers=3"])
    assert (training, network) == (replace(plain, batch=8, smoothing=1.0), {"encoder_layers": 3})
    for wrong in ("batch", "batch=many", "batch=1.5", "bacth=8", "text_width=9"):
        with pytest.raises(ConfigError):
            configured(Preset.COMPACT, [wrong])
