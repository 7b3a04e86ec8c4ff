"""What a bundle and its test users say, in the form that the measures take."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np
import pyarrow as pa

from models.bundle import layout
from models.bundle.reader import Bundle
from models.retrieval import ValueParams
from models.value import Component, effective_weights, present_components
from offline.evaluate import TargetUsers
from offline.measures.arrays import Bools, Floats, Ints, Ragged
from offline.report.assemble.inputs import HeldOut, ItemFacts, Plan
from offline.report.document.parts import Curve, Provenance

CO_PURCHASE = ("also_bought", "bought_together")
"""Columns of the catalogue that say what was bought beside an item; what was only viewed is none."""

CURVES = {
    "dense_loss": ("dense", "loss"),
    "generative_loss": ("generative", "loss"),
    "ndcg_10": ("NDCG@10", "validation"),
    "recall_10": ("Recall@10", "validation"),
    "recall_50": ("Recall@50", "validation"),
}
"""Column of the training curves -> name of the curve and of its axis."""

SOFTWARE = ("shortlist", "numpy", "faiss-cpu")


def held_out(test: TargetUsers) -> HeldOut:
    """The test split: targets, last items before them, and all training interactions."""
    sequences = test.sequences
    training = sequences.training_rows()
    users = np.repeat(np.arange(len(sequences)), sequences.lengths)[training]
    last = [test.history(row)[-1:] for row in range(len(test))]
    anchors = np.array([items[0] if len(items) else -1 for items in last], np.int32)
    return HeldOut(
        targets=test.targets,
        anchors=anchors,
        training_users=users,
        training_items=sequences.items[training],
        users=len(sequences),
        interactions=len(sequences.items),
    )


def item_facts(bundle: Bundle) -> ItemFacts:
    """Graph, leaves, values, co-purchase links and embeddings, each None where the bundle has none."""
    present = present_components(bundle.manifest.sections)
    weights = effective_weights(ValueParams().weights, present)
    return ItemFacts(
        graph=_graph(bundle),
        leaves=_leaves(bundle),
        components=_components(bundle) if weights.any() else None,
        weights=weights if weights.any() else None,
        component_names=tuple(
            part.value if there else f"{part.value} (absent)" for part, there in zip(Component, present, strict=True)
        ),
        links=co_purchase_links(bundle),
        embeddings=bundle.array(layout.EMBEDDINGS) if bundle.has(layout.EMBEDDINGS) else None,
    )


def _graph(bundle: Bundle) -> Ragged:
    return Ragged(
        bundle.array(layout.GRAPH_OFFSETS),
        bundle.array(layout.GRAPH_TARGETS),
        bundle.array(layout.GRAPH_WEIGHTS).astype(np.float64),
    )


def _leaves(bundle: Bundle) -> Ints | None:
    leaves = bundle.array(layout.LEAF_CODES) if bundle.has(layout.LEAF_CODES) else np.empty(0, np.int32)
    return leaves if np.any(leaves >= 0) else None


def _components(bundle: Bundle) -> Floats | None:
    if not bundle.has(layout.VALUE_COMPONENTS):
        return None
    return np.ascontiguousarray(bundle.array(layout.VALUE_COMPONENTS).T, np.float64)


def co_purchase_links(bundle: Bundle) -> Ragged | None:
    """One row an item: what the catalogue says was bought beside it; None where it says nothing."""
    items = bundle.table(layout.ITEMS)
    found = [_pairs(bundle, items[name]) for name in CO_PURCHASE if name in items.column_names]
    rows, linked = (np.concatenate(side) for side in zip(*found, strict=True)) if found else _none()
    return Ragged.from_pairs(rows, linked, n_rows=bundle.n_items) if len(rows) else None


def _none() -> tuple[Ints, Ints]:
    return np.empty(0, np.int32), np.empty(0, np.int32)


def _pairs(bundle: Bundle, column: pa.ChunkedArray) -> tuple[Ints, Ints]:
    """(item, linked item) of one column of lists of ids; ids outside the catalogue left out."""
    lists = column.combine_chunks()
    if pa.types.is_null(lists.type):
        return _none()
    rows = lists.value_parent_indices().to_numpy().astype(np.int32)
    linked = bundle.ids.indices(lists.flatten().to_pylist())
    known: Bools = linked >= 0
    return rows[known], linked[known]


def training_curves(bundle: Bundle) -> list[Curve]:
    """Losses and validation measures an epoch, where the bundle was trained."""
    if not bundle.has(layout.TRAINING_CURVES):
        return []
    table = bundle.table(layout.TRAINING_CURVES)
    epochs = table["epoch"].to_pylist()
    return [
        Curve(name=name, x_label="epoch", y_label=axis, points=_points(epochs, table[column].to_pylist()))
        for column, (name, axis) in CURVES.items()
        if column in table.column_names
    ]


def _points(epochs: Sequence[int], heights: Sequence[float | None]) -> tuple[tuple[float, float], ...]:
    pairs = zip(epochs, heights, strict=True)
    return tuple((float(epoch), float(height)) for epoch, height in pairs if height is not None and height == height)


def lacking(bundle: Bundle, facts: ItemFacts) -> list[str]:
    """Sentences on what the data lacks and which measures therefore stay out."""
    notes = [
        f"Item value does without {part}: {why}. The other weights are rescaled."
        for part, why in _dropped(bundle.manifest.sections.get("value", {})).items()
    ]
    if facts.leaves is None:
        notes.append("The catalogue has no categories, so nothing is measured by category and no value measure stands.")
    if facts.links is None:
        notes.append("The catalogue says nothing of what was bought together, so there is no co-purchase credit.")
    return [*notes, *without_texts(facts)]


def _dropped(value: Mapping[str, Any]) -> dict[str, str]:
    """Value component that the bundle lacks -> why; of ratings that were not used, what kept them out."""
    dropped: dict[str, str] = dict(value.get("dropped", {}))
    if "rating" in dropped and "why" in value:
        dropped["rating"] = str(value["why"])
    return dropped


def without_texts(facts: ItemFacts) -> list[str]:
    """A sentence where feature smoothness has nothing to rest on."""
    missing = ["The bundle holds no text embeddings, so feature smoothness was not measured."]
    return missing if facts.embeddings is None else []


def provenance(bundle: Bundle, data_set: str, plan: Plan) -> Provenance:
    """Where the figures of a report on this bundle come from; the command is that of this process."""
    split = bundle.manifest.split
    return Provenance(
        data_set=data_set,
        bundle=bundle.version,
        split=split.kind,
        truncate_history=split.truncate_history,
        command=f"shortlist {shlex.join(sys.argv[1:])}",
        created=datetime.now(UTC),
        seed=plan.seed,
        resamples=plan.resamples,
        versions={name: version(name) for name in SOFTWARE},
        config=bundle.manifest.config,
    )
