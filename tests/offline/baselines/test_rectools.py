"""SASRec and HSTU through RecTools, in an interpreter of its own where `SHORTLIST_RECTOOLS_PYTHON` names one."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from models.bundle.reader import Bundle
from models.errors import ConfigError, MissingExtraError
from models.words import RetrieverName
from offline.baselines.rectools import Job, Model, ModelSettings, recommend, write_lists
from offline.build import Request, build
from offline.commands.baseline import changed
from offline.config import BuildConfig
from offline.dataset import Inputs
from offline.evaluate import Settings, TargetUsers, evaluate, read_target_users
from offline.predictions import add_predictions, read_predictions
from offline.progress import Reporter
from offline.split import Part

QUIET = Reporter(quiet=True)
PYTHON = os.environ.get("SHORTLIST_RECTOOLS_PYTHON")
ITEMS, USERS = 30, 60


@pytest.fixture(scope="module")
def circle(tmp_path_factory: pytest.TempPathFactory) -> tuple[Bundle, TargetUsers]:
    """Everybody walks around a circle of items by one."""
    folder = tmp_path_factory.mktemp("circle")
    rows = [f"u{user:02d},i{(user * 7 + step) % ITEMS:02d},{step}" for user in range(USERS) for step in range(8)]
    (folder / "interactions.csv").write_text("\n".join(["user_id,item_id,timestamp", *rows]) + "\n")
    files = Inputs((folder / "interactions.csv",))
    config = BuildConfig.model_validate({"split": "leave-last-out", "text": {"encoder": "none"}})
    build(Request(folder / "b", config, files), QUIET)
    bundle = Bundle.open(folder / "b")
    return bundle, read_target_users(bundle, files.interactions, Part.TEST, QUIET)


@pytest.mark.skipif(PYTHON is None, reason="SHORTLIST_RECTOOLS_PYTHON names no interpreter with rectools[torch]")
@pytest.mark.parametrize("model", list(Model))
def test_the_models_learn_the_walk_and_stand_beside_the_retrievers(circle, model, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    bundle, test = circle
    small = ModelSettings(epochs=40, n_factors=32, session_max_len=8, batch_size=16, dropout_rate=0.1, lr=0.01)
    lists = recommend(Job(model, small, PYTHON or "", k=10, threads=1), test)
    write_lists(tmp_path / "lists.parquet", model.value, bundle, test, lists)
    evaluation = evaluate(bundle, test, [RetrieverName.POPULAR], [1, 10], Settings(), QUIET)
    add_predictions(
        evaluation, read_predictions(tmp_path / "lists.parquet", test.user_ids(), bundle.ids), test.targets, [1, 10]
    )
    assert evaluation.measures[model.value]["recall@10"] > 0.9
    assert evaluation.measures[model.value]["recall@1"] > evaluation.measures["popular"]["recall@1"]
    assert list((tmp_path / "here").iterdir()) == []


def test_lists_come_back_as_they_were_written(circle, tmp_path):
    bundle, test = circle
    lists = np.full((len(test), 3), -1, np.int32)
    lists[0], lists[5, :2] = [4, 2, 9], [7, 1]
    write_lists(tmp_path / "lists.parquet", "sasrec", bundle, test, lists)
    read = read_predictions(tmp_path / "lists.parquet", test.user_ids(), bundle.ids)
    np.testing.assert_array_equal(read.lists["sasrec"], lists)


@pytest.mark.skipif(find_spec("rectools") is not None, reason="this interpreter has RecTools")
def test_an_interpreter_without_the_library_is_told_what_to_do(circle):
    with pytest.raises(MissingExtraError, match=r"No module named .* rt/bin/pip install 'rectools\[torch\]'"):
        recommend(Job(Model.SASREC, python=sys.executable), circle[1])


def test_an_interpreter_that_is_not_there_is_told(circle, tmp_path):
    with pytest.raises(ConfigError, match="No such file"):
        recommend(Job(Model.SASREC, python=str(tmp_path / "python")), circle[1])


@pytest.mark.parametrize("pair", ["epoch=3", "epochs=many", "epochs"])
def test_odd_settings_are_refused(pair: str) -> None:
    with pytest.raises(ConfigError, match="NAME=VALUE with one of epochs"):
        changed([pair])


def test_the_worker_imports_nothing_of_the_project() -> None:
    text = (Path(__file__).parents[3] / "offline" / "baselines" / "rectools_worker.py").read_text()
    assert not any(line.startswith(("from offline", "from models", "import offline")) for line in text.splitlines())
