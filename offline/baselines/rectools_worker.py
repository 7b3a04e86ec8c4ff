"""Trains a model of RecTools on sequences from a folder and writes the lists that it recommends.

Run as a script by an interpreter that has `rectools[torch]`, which needs other releases of numpy and pandas than this
project; it therefore imports nothing of the project, and the two sides speak through .npy files and one JSON file.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from pytorch_lightning import seed_everything
from rectools import Columns
from rectools.dataset import Dataset
from rectools.models import HSTUModel, SASRecModel


def main(folder: Path) -> None:
    """Read request.json, train_users/train_items, shown_users/shown_items; write lists.npy (int32 [users, k])."""

    asked = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    torch.set_num_threads(asked["threads"])
    seed_everything(asked["seed"], workers=True)
    model = new_model(asked["model"], asked["settings"])
    model.fit(read_part(folder, "train"))
    found = model.recommend(
        np.arange(asked["users"]),
        read_part(folder, "shown"),
        k=asked["k"],
        filter_viewed=asked["exclude_seen"],
        on_unsupported_targets="warn",
    )
    lists = np.full((asked["users"], asked["k"]), -1, np.int32)
    lists[found[Columns.User].to_numpy(), found[Columns.Rank].to_numpy() - 1] = found[Columns.Item].to_numpy()
    np.save(folder / "lists.npy", lists, allow_pickle=False)


def read_part(folder: Path, part: str) -> Dataset:
    """One part of the sequences; a moment is only a place in the file, so it tells the order and nothing else."""
    users, items = (np.load(folder / f"{part}_{name}.npy", allow_pickle=False) for name in ("users", "items"))
    moments = pd.to_datetime(np.arange(len(users)), unit="s")
    columns = {Columns.User: users, Columns.Item: items, Columns.Weight: 1.0, Columns.Datetime: moments}
    return Dataset.construct(pd.DataFrame(columns))


def new_model(name: str, settings: dict[str, Any]) -> SASRecModel | HSTUModel:
    """The model; HSTU attends by relative position alone, since there are no true moments."""
    common = {"deterministic": True, "verbose": 1, "recommend_torch_device": "cpu", **settings}
    return HSTUModel(relative_time_attention=False, **common) if name == "hstu" else SASRecModel(**common)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
