"""The data set after an update, with the interface that jobs know, from a state and new files."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from models.bundle import layout
from models.bundle.reader import Bundle
from models.ids import ItemIds
from models.words import Split
from offline.config import BuildConfig, UnknownItems
from offline.counts import RatingCounts, Transitions
from offline.dataset import all_items, read_items
from offline.increment.counts import Renumbering, changed
from offline.increment.state import RATING_COUNTS, RATING_ITEMS, RATING_VALUES, State, StateWriter
from offline.increment.touched import OLD_ROWS, Part, before, keep_touched, know_old_rows, part_of
from offline.ingest.catalogue import Catalogue, as_read
from offline.ingest.columns import FILE, ITEM_ID, PLACES
from offline.ingest.engine import Engine, Source
from offline.ingest.interactions import INTERACTIONS, Accepted, accept, known_groups, report_of
from offline.ingest.report import Finding, IngestReport, TableReport

NEW_ROWS = "new_rows"


@dataclass(frozen=True, slots=True)
class Updated:
    """See `offline.counts.Counts`.

    Attributes:
        items: the catalogue table in item index order.
        ids: its ids.
        report: what was dropped and why, of all files there ever were.
        split: how the sequences are divided.
        renumbering: from the bundle's items to these.
        graph: counted transitions.
        popular: int64 [n_items].
        rated: counted ratings.
        facts: for the manifest.
    """

    items: pa.Table
    ids: ItemIds
    report: IngestReport
    split: Split
    renumbering: Renumbering
    graph: Transitions
    popular: npt.NDArray[np.int64]
    rated: RatingCounts
    facts: dict[str, Any]

    def transitions(self) -> Transitions:
        """Counted transitions of the training part."""
        return self.graph

    def popularity(self) -> npt.NDArray[np.int64]:
        """int64 [n_items]: training interactions of each item."""
        return self.popular

    def ratings(self) -> RatingCounts:
        """How often each rating was given to an item in training."""
        return self.rated

    def statistics(self) -> dict[str, Any]:
        """Facts for the manifest."""
        return self.facts


def update_dataset(
    engine: Engine,
    base: Bundle,
    state: State,
    sources: Sequence[Source],
    items: Source | None,
    config: BuildConfig,
    writer: StateWriter,
) -> Updated:
    """Read the new files and count what they change; the next state gets rows, ratings and facts.

    Raises:
        InputError: a file is malformed or mixes units.
    """
    facts = dict(state.facts)
    first = len(facts["files"])
    accepted = _shifted(accept(engine, sources, config), first)
    new = _with_new_rows(engine, state, writer, first)
    catalogue = _catalogue(state, items, config)
    known = None if catalogue is None else catalogue.table.select([ITEM_ID])
    old_items = as_read(base.table(layout.ITEMS))
    table = old_items if items is None and known is not None and _drops(config) else None
    if table is None:
        everything = engine.table(OLD_ROWS).union(new)
        engine.keep(INTERACTIONS, everything.select(ITEM_ID).distinct())
        table = all_items(engine, catalogue, config)
    old_ids, new_ids = old_items[ITEM_ID].combine_chunks(), table[ITEM_ID].combine_chunks()
    moves = Renumbering.between(old_ids, new_ids)
    moved = pa.concat_arrays([old_ids.filter(pa.array(moves.place < 0)), new_ids.filter(pa.array(moves.origin < 0))])
    touched = keep_touched(engine, new, moved)
    was = part_of(engine, before(touched, first), old_ids, config, "was")
    now = part_of(engine, touched, new_ids, config, "now")
    merged = _merged_accepted(facts, accepted)
    groups = _groups(engine, facts, new, known, same_catalogue=items is None)
    report = IngestReport(report_of(merged, groups, config), None if catalogue is None else catalogue.report)
    rated = _ratings(state, was, now, moves)
    _next_facts(writer, merged, groups, report, rated, catalogue)
    ids = base.ids if moves.same else ItemIds.from_strings(new_ids.to_pylist())
    statistics = _statistics(base, was, now, len(table))
    graph, popular = _graph(base, was, now, moves), _popular(base, was, now, moves)
    return Updated(table, ids, report, config.split, moves, graph, popular, rated, statistics)


def _drops(config: BuildConfig) -> bool:
    return config.interactions.unknown_items is UnknownItems.DROP


def _shifted(accepted: Accepted, first: int) -> Accepted:
    """File numbers go on where the state's end."""
    dropped = tuple({**group, "first": group["first"] + first * PLACES} for group in accepted.dropped)
    return Accepted(accepted.files, accepted.units, dropped)


def _with_new_rows(engine: Engine, state: State, writer: StateWriter, first: int) -> Any:
    parts = state.rows()
    for part in parts:
        writer.link(part)
    know_old_rows(engine, parts)
    rows = engine.table(INTERACTIONS)
    new = engine.keep(NEW_ROWS, rows.mutate(**{FILE: (rows[FILE] + first).cast("int32")}))
    engine.save(NEW_ROWS, writer.next_rows())
    return new


def _catalogue(state: State, items: Source | None, config: BuildConfig) -> Catalogue | None:
    if items is not None:
        return read_items(items, config)
    table = state.catalogue()
    return None if table is None else Catalogue(as_read(table), _report_from(state.facts["catalogue_report"]))


def _report_from(facts: dict[str, Any]) -> TableReport:
    findings = tuple(Finding(**finding) for finding in facts["findings"])
    return TableReport(tuple(facts["files"]), tuple(facts["units"]), facts["read"], facts["kept"], findings)


def _merged_accepted(facts: dict[str, Any], new: Accepted) -> Accepted:
    return Accepted((*facts["files"], *new.files), (*facts["units"], *new.units), (*facts["dropped"], *new.dropped))


def _groups(
    engine: Engine, facts: dict[str, Any], new: Any, known: pa.Table | None, *, same_catalogue: bool
) -> list[dict[str, Any]]:
    """Verdicts on accepted rows; those on old rows stand as long as the catalogue does."""
    if same_catalogue:
        return [*facts["groups"], *known_groups(engine, new, known)]
    return known_groups(engine, engine.table(OLD_ROWS).union(new), known)


def _next_facts(
    writer: StateWriter,
    accepted: Accepted,
    groups: list[dict[str, Any]],
    report: IngestReport,
    rated: RatingCounts,
    catalogue: Catalogue | None,
) -> None:
    writer.facts.update(state_facts(accepted, groups, report))
    writer.arrays.update(rating_arrays(rated))
    writer.add_catalogue(None if catalogue is None else catalogue.table)


def state_facts(accepted: Accepted, groups: list[dict[str, Any]], report: IngestReport) -> dict[str, Any]:
    """What the next update has to know of the files read so far."""
    return {
        "files": list(accepted.files),
        "units": list(accepted.units),
        "dropped": list(accepted.dropped),
        "groups": groups,
        "catalogue_report": report.facts()["items"],
    }


def rating_arrays(rated: RatingCounts) -> dict[str, npt.NDArray[Any]]:
    """Arrays of a state."""
    return {RATING_ITEMS: rated.items, RATING_VALUES: rated.ratings, RATING_COUNTS: rated.counts}


def _statistics(base: Bundle, was: Part, now: Part, n_items: int) -> dict[str, Any]:
    old = base.manifest.statistics
    return {
        "users": old["users"] - was.users + now.users,
        "items": n_items,
        "interactions": old["interactions"] - was.kept + now.kept,
        "repeats_under_another_event": old["repeats_under_another_event"] - was.repeats + now.repeats,
    }


def _popular(base: Bundle, was: Part, now: Part, moves: Renumbering) -> npt.NDArray[np.int64]:
    left = np.asarray(base.array(layout.POPULARITY)) - was.popularity
    moved: npt.NDArray[np.int64] = moves.moved(left, 0)
    return moved + now.popularity


def _edge_keys(graph: Transitions, n_items: int) -> npt.NDArray[np.int64]:
    keys: npt.NDArray[np.int64] = graph.sources.astype(np.int64) * n_items + graph.targets
    return keys


def _graph(base: Bundle, was: Part, now: Part, moves: Renumbering) -> Transitions:
    """Old counts less the touched users' old ones, in the new numbering, plus their new ones."""
    n_old, n_new = len(moves.place), len(moves.origin)
    sources = np.repeat(np.arange(n_old, dtype=np.int64), np.diff(base.array(layout.GRAPH_OFFSETS)))
    keys = sources * n_old + base.array(layout.GRAPH_TARGETS)
    counts = np.asarray(base.array(layout.GRAPH_COUNTS)).astype(np.int64)
    keys, counts = changed(keys, counts, _edge_keys(was.transitions, n_old), -was.transitions.counts)
    if not moves.same:
        keys = moves.place[keys // n_old] * n_new + moves.place[keys % n_old]
    keys, counts = changed(keys, counts, _edge_keys(now.transitions, n_new), now.transitions.counts)
    return Transitions((keys // n_new).astype(np.int32), (keys % n_new).astype(np.int32), counts)


def _ratings(state: State, was: Part, now: Part, moves: Renumbering) -> RatingCounts:
    """The same for ratings; each distinct (item, rating) is one key."""
    old = RatingCounts(*(np.asarray(state.array(name)) for name in (RATING_ITEMS, RATING_VALUES, RATING_COUNTS)))
    levels = np.unique(np.concatenate([part.ratings for part in (old, was.ratings, now.ratings)]))

    def keys(counts: RatingCounts) -> npt.NDArray[np.int64]:
        found: npt.NDArray[np.int64] = counts.items.astype(np.int64) * len(levels) + np.searchsorted(
            levels, counts.ratings
        )
        return found

    left, counts = changed(keys(old), old.counts, keys(was.ratings), -was.ratings.counts)
    if len(levels):
        left = moves.place[left // len(levels)] * len(levels) + left % len(levels)
    left, counts = changed(left, counts, keys(now.ratings), now.ratings.counts)
    width = max(1, len(levels))
    return RatingCounts((left // width).astype(np.int32), levels[left % width] if len(left) else levels[:0], counts)
