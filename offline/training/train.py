"""From a bundle and its interactions to a new version that can serve DR and GR."""

import time
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import torch

from models.bundle import layout
from models.bundle.reader import Bundle
from models.bundle.writer import BundleWriter
from models.errors import InputError
from models.retrieval import Items
from models.words import Split
from offline.config import config_from
from offline.dataset import read_against
from offline.split import Part, Sequences
from offline.training.devices import Place, place
from offline.training.export import export_network
from offline.training.fit import Fitted, Job, fit
from offline.training.histories import Histories
from offline.training.index import build_index
from offline.training.progress import TrainingProgress
from offline.training.request import TrainRequest
from offline.training.semantic import write_semantic_ids
from offline.training.validation import HeldOut, encode

SECTION = "training"
INDEX_SECTION = "index"
CHOOSING = "choosing epochs on a split of the interactions"


def train(request: TrainRequest, progress: TrainingProgress) -> str | None:
    """Train and publish. The new version; None in the helping processes of a data-parallel training.

    A bundle with a split validates on each user's validation item. One on all interactions first trains on what such a
    split would leave, to learn for how many epochs, then on everything for as many.

    Raises:
        BundleError: there is no bundle, or it lacks embeddings.
        InputError: the interactions are malformed or hold nothing to learn from.
        ConfigError: a checkpoint of another training is in the way.
    """
    started = time.monotonic()
    bundle = Bundle.open(request.bundles)
    embeddings = np.array(bundle.array(layout.EMBEDDINGS))
    sequences = _sequences(request, bundle)
    faiss.omp_set_num_threads(request.threads)
    with place(request.device, request.threads) as here:
        fitted, chosen_by = _fit(request, embeddings, sequences, here, progress)
        if not here.leads:
            return None
        with BundleWriter.derive(request.bundles, bundle) as writer:
            facts = _export(request, writer, fitted, _histories(sequences))
            seconds = round(time.monotonic() - started, 1)
            writer.section(SECTION, {**_facts(request, fitted, here), **facts, **chosen_by, "seconds": seconds})
            return writer.publish(activate=request.activate)


def _fit(
    request: TrainRequest, embeddings: Any, sequences: Sequences, here: Place, progress: TrainingProgress
) -> tuple[Fitted, dict[str, Any]]:
    histories = _histories(sequences)
    if sequences.split is not Split.NONE:
        job = Job(histories, _held_out(sequences), request.epochs, request.checkpoints)
        return fit(request, embeddings, job, here, progress), {"epochs_chosen_by": "validation"}
    epochs, reason = request.epochs, "request"
    if epochs is None:
        progress.say(CHOOSING)
        divided = Sequences(sequences.user_ids, sequences.offsets, sequences.items, Split.LEAVE_LAST_OUT)
        trial = Job(_histories(divided), _held_out(divided), None, _below(request.checkpoints, "trial"))
        epochs, reason = fit(request, embeddings, trial, here, progress).epochs(), CHOOSING
    job = Job(histories, None, epochs, _below(request.checkpoints, "full"))
    return fit(request, embeddings, job, here, progress), {"epochs_chosen_by": reason}


def _below(folder: Path | None, name: str) -> Path | None:
    return None if folder is None else folder / name


def _sequences(request: TrainRequest, bundle: Bundle) -> Sequences:
    config = config_from(bundle.manifest.config, where=f"manifest of bundle {bundle.version}")
    with read_against(request.interactions, bundle.ids, config) as dataset:
        return dataset.sequences()


def _histories(sequences: Sequences) -> Histories:
    """Training parts that hold something to predict.

    Raises:
        InputError: there is none.
    """
    parts = [sequences.train(user) for user in range(len(sequences))]
    usable = [part for part in parts if len(part) >= 2]
    if not usable:
        raise InputError(
            "interactions",
            found="no user with two training interactions",
            expected="sequences to learn from",
            remedy="Check the files and the split.",
        )
    return Histories.of(usable)


def _held_out(sequences: Sequences) -> HeldOut | None:
    users = sequences.with_targets()
    if not len(users):
        return None
    histories = [sequences.history(int(user), Part.VALIDATION) for user in users]
    return HeldOut(Histories.of(histories), sequences.targets(users, Part.VALIDATION))


def _export(request: TrainRequest, writer: BundleWriter, fitted: Fitted, histories: Histories) -> dict[str, Any]:
    write_semantic_ids(writer, fitted.ids, request.ids)
    difference = export_network(fitted.network, request.config, writer, request.rules())
    writer.add_table(layout.TRAINING_CURVES, fitted.curves.table())
    vectors = np.array(writer.read_array(layout.ITEM_VECTORS))
    index, facts = build_index(vectors, _some_queries(request, fitted, histories), request.index)
    target = writer.folder / layout.INDEX
    target.unlink(missing_ok=True)
    faiss.write_index(index, str(target))
    writer.section(INDEX_SECTION, facts)
    return {"onnx_difference": difference}


@torch.inference_mode()
def _some_queries(request: TrainRequest, fitted: Fitted, histories: Histories) -> Any:
    rows = np.linspace(0, len(histories) - 1, min(len(histories), request.index.sample)).astype(int)
    newest: list[Items] = [histories.sequence(int(row))[-request.config.history :] for row in rows]
    return encode(fitted.network, fitted.network.items.served_inputs(), newest).numpy()


def _facts(request: TrainRequest, fitted: Fitted, here: Place) -> dict[str, Any]:
    best = fitted.curves.best()
    return {
        "preset": request.preset.value,
        "network": fitted.network.config.facts(),
        "config": request.config.facts(),
        "seed": request.config.seed,
        "device": str(here.device),
        "precision": str(here.half).removeprefix("torch."),
        "processes": here.processes,
        "epochs": fitted.epochs(),
        "validation": None if best is None else {"ndcg@10": best.ndcg_10, "recall@50": best.recall_50},
    }
