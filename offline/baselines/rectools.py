"""SASRec and HSTU of RecTools, trained on a bundle's split by another interpreter; their lists as predictions."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from models.bundle.reader import Bundle
from models.errors import ConfigError, InputError, MissingExtraError
from models.retrieval import Items
from offline.evaluate import TargetUsers
from offline.outputs import replaced_file
from offline.predictions import COLUMNS

WORKER = Path(__file__).resolve().with_name("rectools_worker.py")
PROBE = "import pytorch_lightning, rectools, torch"
Longs = npt.NDArray[np.int64]


class Model(StrEnum):
    """What RecTools offers here."""

    SASREC = "sasrec"
    HSTU = "hstu"


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Size and training; the defaults suit a CPU.

    Attributes:
        epochs: passes over the sequences.
        n_factors: width.
        n_blocks: layers.
        n_heads: attention heads.
        session_max_len: newest items that the model reads.
        dropout_rate: share of activations left out.
        lr: learning rate.
        batch_size: sequences at once.
        loss: softmax over the whole catalogue, or BCE, gBCE or sampled_softmax.
    """

    epochs: int = 20
    n_factors: int = 128
    n_blocks: int = 2
    n_heads: int = 2
    session_max_len: int = 50
    dropout_rate: float = 0.3
    lr: float = 0.001
    batch_size: int = 128
    loss: str = "softmax"


@dataclass(frozen=True, slots=True)
class Job:
    """One model to train.

    Attributes:
        model: which.
        settings: size and training.
        python: an interpreter with `rectools[torch]`.
        k: length of the lists.
        exclude_seen: leave out what the history holds.
        threads: of torch.
        seed: of weights and batches.
    """

    model: Model
    settings: ModelSettings = field(default_factory=ModelSettings)
    python: str = sys.executable
    k: int = 50
    exclude_seen: bool = False
    threads: int = 2
    seed: int = 1


def recommend(job: Job, test: TargetUsers) -> Items:
    """Train on the training parts and recommend for full test histories: int32 [users, k], padded with -1.

    Raises:
        ConfigError: there is no such interpreter.
        MissingExtraError: it has no RecTools.
        InputError: the training failed; the library's last words are told.
    """
    _check(job.python)
    with TemporaryDirectory(prefix="shortlist-rectools-") as name:
        folder = Path(name)
        _write_request(folder, job, test)
        python = str(Path(job.python).absolute()) if os.sep in job.python else job.python
        # Lightning writes logs into the folder that it is started in.
        run = subprocess.run([python, "-P", str(WORKER), name], cwd=name, stdout=sys.stderr, check=False)
        if run.returncode:
            raise InputError(
                f"baseline {job.model}",
                found=f"exit code {run.returncode} of {job.python}",
                expected="a training that ends well",
                remedy="See its messages above; --set changes the model's settings.",
            )
        lists: Items = np.load(folder / "lists.npy", allow_pickle=False)
        return lists


def _write_request(folder: Path, job: Job, test: TargetUsers) -> None:
    sequences = test.sequences
    _write_part(folder, "train", [sequences.train(user) for user in range(len(sequences))])
    _write_part(folder, "shown", [test.history(row) for row in range(len(test))])
    request: dict[str, Any] = {
        "model": job.model.value,
        "settings": asdict(job.settings),
        "users": len(test),
        "k": job.k,
        "exclude_seen": job.exclude_seen,
        "threads": job.threads,
        "seed": job.seed,
    }
    (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")


def _write_part(folder: Path, part: str, rows: Sequence[Items]) -> None:
    """Users and items of sequences, oldest first within a user; users are numbered within each part."""
    users = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    np.save(folder / f"{part}_users.npy", users, allow_pickle=False)
    np.save(folder / f"{part}_items.npy", np.concatenate(rows), allow_pickle=False)


def _check(python: str) -> None:
    try:
        probe = subprocess.run([python, "-c", PROBE], capture_output=True, text=True, check=False)
    except OSError as error:
        raise ConfigError(
            "--python", found=f"{python}: {error.strerror}", expected="an interpreter", remedy="Pass its path."
        ) from error
    if probe.returncode:
        raise MissingExtraError(
            f"interpreter {python}",
            found=(probe.stderr.strip().splitlines() or ["no RecTools"])[-1],
            expected="rectools[torch]",
            remedy=(
                "RecTools below Python 3.13 needs numpy < 2, so give it an environment of its own: python -m venv rt; "
                "rt/bin/pip install 'rectools[torch]'; then --python rt/bin/python."
            ),
        )


def write_lists(path: Path, name: str, bundle: Bundle, test: TargetUsers, lists: Items) -> None:
    """Write lists in the form that `evaluate --predictions-from` reads.

    Raises:
        ConfigError: the file cannot be written.
    """
    rows, places = np.nonzero(lists >= 0)
    columns = [
        pa.array(test.user_ids(), pa.string()).take(rows),
        pa.array([name] * len(rows), pa.string()),
        pa.array((places + 1).astype(np.int32)),
        pa.array(bundle.ids.strings(lists[rows, places]), pa.string()),
    ]
    with replaced_file(path) as draft:
        pq.write_table(pa.Table.from_arrays(columns, schema=pa.schema(COLUMNS)), draft, compression="zstd")
