"""`shortlist update`: a new version of the current bundle from new interactions alone, equal to a build on everything.

Whole arrays that cost little (weights, ranks) are computed anew from exact counts by the jobs that a build runs; what
costs much (texts, neighbours, ring lists) is taken over wherever nothing that it follows from has changed.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from models.bundle import layout
from models.bundle.manifest import SplitInfo
from models.bundle.reader import Bundle
from models.bundle.writer import BundleWriter
from models.errors import ConfigError
from models.graph import Graph
from models.neighbours import NeighbourConfig, width
from models.ring_store import write_ring_lists
from models.rings import RingConfig, reverse, ring_inputs
from offline.config import BuildConfig, config_from
from offline.dataset import Inputs
from offline.increment import rings, state, texts, trained
from offline.increment.dataset import Updated, update_dataset
from offline.increment.refusals import check_new, check_whole
from offline.ingest.engine import Engine
from offline.ingest.sources import identified
from offline.jobs import embeddings, filters, graph, items, neighbours, values
from offline.jobs.base import Context, Facts
from offline.jobs.rings import bundle_graph
from offline.measure import measured
from offline.progress import Reporter

JOB_COSTS = "jobs"


@dataclass(frozen=True, slots=True)
class UpdateRequest:
    """What to update, with what.

    Attributes:
        bundles: the bundles root; its current bundle is the base.
        state: root of the states, which holds the base's.
        inputs: new interactions, and the whole catalogue where it changed.
        vectors: the user's own item vectors; needed where the base was built with such.
    """

    bundles: Path
    state: Path
    inputs: Inputs
    vectors: Path | None = None


@dataclass
class Update:
    """An update at work: the base, what changed, and the costs so far."""

    base: Bundle
    known: state.State
    context: Context
    updated: Updated
    costs: dict[str, dict[str, float]] = field(default_factory=dict)

    @property
    def writer(self) -> BundleWriter:
        """The bundle being written."""
        return self.context.writer


def update(request: UpdateRequest, reporter: Reporter) -> str:
    """Publish the updated bundle and its state. The version.

    Raises:
        ConfigError: no state of the current bundle, or the user's own vectors are not given again.
        InputError: a file is malformed, was counted before, or is a catalogue that lacks most items.
        BundleError: the bundle cannot be written; the one that serves stays.
    """
    base = Bundle.open(request.bundles, verify="sizes")
    known = state.State.of(request.state, base)
    config = config_from(base.manifest.config, where=f"manifest of bundle {base.version}")
    _check_vectors(request, base, config)
    check_new(base, request.inputs.interactions)
    split = SplitInfo(kind=config.split, truncate_history=config.truncate_history)
    with (
        BundleWriter.create(request.bundles, split=split, config=base.manifest.config) as writer,
        state.StateWriter(request.state) as next_state,
        measured() as total,
    ):
        with measured() as cost, Engine(config.engine) as engine:
            files = request.inputs
            updated = update_dataset(engine, base, known, files.interactions, files.items, config, next_state)
        check_whole(updated.renumbering)
        context = Context(writer, config, None, request.vectors, reporter, updated=updated)
        work = Update(base, known, context, updated, {"counts": cost.facts()})
        _run(work, request)
        next_state.arrays.update(context.kept)
        writer.section("derived", {"from": base.version})
        writer.section(JOB_COSTS, work.costs)
        next_state.commit(writer.folder, writer.version)
        version = writer.publish()
    state.forget_old(request.state, {version, base.version})
    reporter.done("update", total)
    reporter.say(f"published {version}")
    return version


def _check_vectors(request: UpdateRequest, base: Bundle, config: BuildConfig) -> None:
    source = base.manifest.sections.get("embeddings", {}).get("source")
    if request.vectors is None and source != config.text.encoder:
        raise ConfigError(
            "--embeddings",
            found="none",
            expected=f"item vectors, as the base was built with ({source})",
            remedy="Give the file of all items' vectors.",
        )


def _run(work: Update, request: UpdateRequest) -> None:
    steps: dict[str, Callable[[], Facts]] = {
        "items": lambda: _items(work, request),
        "filters": lambda: filters.run(work.context),
        "graph": lambda: graph.run(work.context),
        "value": lambda: values.run(work.context),
    }
    for name, step in steps.items():
        with work.context.reporter.job(name), measured() as cost:
            work.writer.section(name, step())
        work.costs[name] = cost.facts()
    with work.context.reporter.job("texts"), measured() as cost:
        told, changed, other = _texts(work)
    work.costs["texts"] = cost.facts()
    with work.context.reporter.job("rings"), measured() as cost:
        work.writer.section("rings", _rings(work, changed, other))
    work.costs["rings"] = cost.facts()
    with measured() as cost:
        trained.carry_trained(work.writer, work.base, work.updated.renumbering)
    work.costs["trained"] = cost.facts()
    work.context.reporter.say(told)


def _items(work: Update, request: UpdateRequest) -> Facts:
    facts = items.run(work.context)
    inputs = dict(work.base.manifest.sections.get("inputs", {}))
    files = [*request.inputs.interactions, *([] if request.inputs.items is None else [request.inputs.items])]
    for source in files:
        inputs.update({str(path): told for path, told in identified(source)})
    work.writer.section("inputs", inputs)
    return facts


def _texts(work: Update) -> tuple[str, Any, Any]:
    """Embeddings and text neighbours; what to tell, changed embeddings and changed neighbours."""
    context, base, moves = work.context, work.base, work.updated.renumbering
    if context.vectors is not None:
        vectors, facts = embeddings.own_vectors(context, context.vectors)
    else:
        vectors, facts = texts.encoded(context, base)
    work.writer.section("embeddings", embeddings.write_embeddings(context, vectors, facts))
    now = texts.compared(base, vectors, moves)
    config = NeighbourConfig(m=context.config.text.neighbours)
    found, other = None, np.ones(len(vectors), np.bool_)
    if len(vectors) <= config.exact_items:
        updated = texts.updated_neighbours(base, now, moves, width(len(vectors), config))
        found, other = (None, other) if updated is None else updated
    if found is None:
        work.writer.section("text-neighbours", neighbours.run(context))
    else:
        work.writer.add_array(layout.TEXT_NEIGHBOURS, found)
        work.writer.section("text-neighbours", base.manifest.sections["text-neighbours"])
    return f"{int(now.changed.sum()):,} of {len(vectors):,} items have another text vector", now.changed, other


def _rings(work: Update, changed: Any, other: Any) -> Facts:
    context, moves, base = work.context, work.updated.renumbering, work.base
    after, read = bundle_graph(context), work.writer.read_array
    before = Graph(*(np.asarray(base.array(name)) for name in graph.JOB.writes))
    config = RingConfig(**context.config.rings.model_dump())
    stored = rings.StoredRings(
        base.array(layout.RING_OFFSETS),
        base.array(layout.RING_ENDS),
        base.array(layout.RING_SIZES),
        base.array(layout.RING_ITEMS),
        base.array(layout.RING_SCORES),
        work.known.array(state.RINGS_FOUND),
    )
    backwards = reverse(after)
    touched = rings.touched_anchors(
        rings.changed_rows(before, after, moves), backwards, changed, other, moves,
        probing=bool((np.asarray(stored.found) < 3).any()),
    )  # fmt: skip
    inputs = ring_inputs(after, read(layout.EMBEDDINGS))
    listed, found = np.asarray(read(layout.TEXT_NEIGHBOURS)), []

    def blocks() -> Any:
        for block in rings.updated_blocks(stored, moves, touched, inputs, backwards, listed, config):
            found.append(block.found)
            yield block

    count = context.reporter.counter(after.n_items)
    facts = write_ring_lists(context.writer, after, inputs.embeddings, listed, config, count, blocks())
    context.kept[state.RINGS_FOUND] = np.concatenate(found)
    anew, first_ring = (int(mask.sum()) for mask in touched)
    context.reporter.say(f"rings: of {after.n_items:,} anchors {anew:,} were computed anew, ring 1 of {first_ring:,}")
    return facts
