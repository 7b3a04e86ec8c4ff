"""Interactions and catalogue, read and joined: what the jobs and the evaluation start from."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from models.errors import InputError
from models.ids import ItemIds
from models.words import Split
from offline import expressions
from offline.config import BuildConfig, EngineKind, EngineRules, UnknownItems
from offline.counts import RatingCounts, Transitions, counted_ratings, counted_transitions, numbers
from offline.ingest.catalogue import Catalogue, items_only, read_catalogue
from offline.ingest.columns import COUNT, ITEM, ITEM_ID, LENGTH, USER_ID
from offline.ingest.engine import Engine, QueryEngine, Source
from offline.ingest.interactions import INTERACTIONS, Accepted, Group, accept, known_groups, report_of
from offline.ingest.report import IngestReport
from offline.split import Sequences

ROWS = "sequence_rows"


@dataclass(frozen=True, slots=True)
class Inputs:
    """The user's files.

    Attributes:
        interactions: in the order in which equal timestamps are to be taken; folders of Parquet files, and with Spark
            URIs, too.
        items: the catalogue; None = the items are those of the interactions.
    """

    interactions: tuple[Source, ...]
    items: Source | None = None


@dataclass(frozen=True, slots=True)
class Dataset:
    """Everything read, inside the engine; use it as a context manager.

    Attributes:
        items: the catalogue table in item index order.
        ids: its ids.
        report: what was dropped and why.
        split: how the sequences are divided.
        accepted: what reading found before the catalogue was looked at.
        groups: accepted rows by what is odd about them.
        newest: places at the end of a sequence that count, older ones are left out; None = all.
    """

    engine: QueryEngine
    items: pa.Table
    ids: ItemIds
    report: IngestReport
    split: Split
    accepted: Accepted
    groups: list[Group]
    newest: int | None = None

    def _rows(self) -> Any:
        rows = expressions.truncated(self.engine.table(ROWS), self.newest)
        return expressions.parted(rows, self.split)

    def _arrow(self, expression: Callable[[Any], Any]) -> pa.Table:
        return self.engine.result(expression(self._rows()))

    def transitions(self) -> Transitions:
        """Counted transitions of the training part."""
        return counted_transitions(self._arrow(expressions.transitions))

    def popularity(self) -> npt.NDArray[np.int64]:
        """int64 [n_items]: training interactions of each item."""
        return self._per_item(self._arrow(expressions.popularity), COUNT, np.int64)

    def ratings(self) -> RatingCounts:
        """How often each rating was given to an item in training."""
        return counted_ratings(self._arrow(expressions.ratings))

    def _per_item(self, table: pa.Table, column: str, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        dense = np.zeros(len(self.ids), dtype)
        dense[numbers(table, ITEM, np.int64)] = numbers(table, column, dtype)
        return dense

    def sequences(self) -> Sequences:
        """All users' sequences after truncation."""
        users, ordered = self._arrow(expressions.users), self._arrow(expressions.ordered)
        offsets = np.concatenate(([0], np.cumsum(numbers(users, LENGTH, np.int64)))).astype(np.int64)
        user_ids = users[USER_ID].combine_chunks()
        return Sequences(user_ids, offsets, numbers(ordered, ITEM, np.int32), self.split)

    def statistics(self) -> dict[str, Any]:
        """Facts for the manifest."""
        found = self._arrow(expressions.statistics).to_pylist()[0]
        return {
            "users": found["users"],
            "items": len(self.ids),
            "interactions": found["kept"],
            "repeats_under_another_event": found["read"] - found["kept"],
        }

    def close(self) -> None:
        """Free the engine."""
        self.engine.close()

    def __enter__(self) -> Self:
        """The data set itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()


def open_engine(rules: EngineRules) -> QueryEngine:
    """The engine that the configuration names.

    Raises:
        MissingExtraError: its packages are not installed.
    """
    if rules.kind is EngineKind.DUCKDB:
        return Engine(rules)
    from offline.spark.engine import SparkEngine

    return SparkEngine(rules)


Keep = Callable[[QueryEngine, Catalogue | None], None]
"""Told when the accepted interactions are a table of the engine: `offline.increment` keeps them."""


def read_dataset(inputs: Inputs, config: BuildConfig, keep: Keep | None = None) -> Dataset:
    """Read the user's files.

    Raises:
        InputError: a file is malformed or nothing usable remains.
    """
    catalogue = None if inputs.items is None else read_items(inputs.items, config)
    engine = open_engine(config.engine)
    try:
        known = None if catalogue is None else catalogue.table.select([ITEM_ID])
        accepted = accept(engine, inputs.interactions, config)
        groups = [*accepted.kept] if known is None else known_groups(engine, engine.table(INTERACTIONS), known)
        told = IngestReport(report_of(accepted, groups, config), None if catalogue is None else catalogue.report)
        if keep is not None:
            keep(engine, catalogue)
        items = all_items(engine, catalogue, config)
        _check_order(items)
        ids = ItemIds.from_strings(items[ITEM_ID].to_pylist())
        _place_rows(engine, accepted, items)
        engine.drop(INTERACTIONS)
        return Dataset(engine, items, ids, told, config.split, accepted, groups, config.truncate_history)
    except BaseException:
        engine.close()
        raise


def read_items(source: Source, config: BuildConfig) -> Catalogue:
    """Read a catalogue: on this machine, whatever engine reads the interactions, for its bundle lies here too.

    Raises:
        InputError: the file is malformed, lacks `item_id`, or holds no usable row.
    """
    with Engine(config.engine) as engine, local_copy(source, config.engine) as path:
        return read_catalogue(engine, path, config)


@contextmanager
def local_copy(source: Source, rules: EngineRules) -> Iterator[Path]:
    """A file on this machine: the source itself where it is one, else a copy that lives as long as the block."""
    if isinstance(source, Path):
        yield source
        return
    from offline.spark.session import fetched

    with fetched(source, rules) as path:
        yield path


def read_against(sources: Sequence[Source], ids: ItemIds, config: BuildConfig) -> Dataset:
    """Read interactions for a catalogue that exists, such as a bundle's.

    Raises:
        InputError: a file is malformed or nothing usable remains.
    """
    engine = open_engine(config.engine)
    try:
        items = items_only(_texts(ids))
        rules = config.interactions.model_copy(update={"unknown_items": UnknownItems.DROP})
        config = config.model_copy(update={"interactions": rules})
        accepted = accept(engine, sources, config)
        _place_rows(engine, accepted, items)
        groups = _groups(engine, accepted, items)
        told = IngestReport(report_of(accepted, groups, config), None)
        engine.drop(INTERACTIONS)
        return Dataset(engine, items, ids, told, config.split, accepted, groups, config.truncate_history)
    except BaseException:
        engine.close()
        raise


def _texts(ids: ItemIds) -> pa.Array:
    """All ids in index order, without a Python string of each."""
    buffers = [None, pa.py_buffer(np.ascontiguousarray(ids.offsets)), pa.py_buffer(np.ascontiguousarray(ids.data))]
    return pa.Array.from_buffers(pa.large_string(), len(ids), buffers).cast(pa.string())


def all_items(engine: QueryEngine, catalogue: Catalogue | None, config: BuildConfig) -> pa.Table:
    """The catalogue, and bare items for ids that only interactions hold, where the rules keep those."""
    if catalogue is not None and config.interactions.unknown_items is UnknownItems.DROP:
        return catalogue.table
    listed = items_only([]) if catalogue is None else catalogue.table
    known = engine.give("catalogue_ids", listed.select([ITEM_ID]))
    extra = engine.result(expressions.unknown_ids(engine.table(INTERACTIONS), known))
    bare = items_only(extra[ITEM_ID].to_pylist())
    if catalogue is None:
        return bare
    table = pa.concat_tables([catalogue.table, bare], promote_options="default")
    return table.sort_by(ITEM_ID)


def _groups(engine: QueryEngine, accepted: Accepted, items: pa.Table) -> list[Group]:
    """See `known_groups`; where every accepted row was placed, every item is known."""
    placed = engine.result(engine.table(ROWS).aggregate(rows=engine.table(ROWS).count())).to_pylist()[0]["rows"]
    if placed == accepted.n_kept():
        return [*accepted.kept]
    return known_groups(engine, engine.table(INTERACTIONS), items.select([ITEM_ID]))


def _place_rows(engine: QueryEngine, accepted: Accepted, items: pa.Table) -> None:
    """Make the engine table of rows with their places."""
    numbered = pa.table({ITEM_ID: items[ITEM_ID], ITEM: np.arange(len(items), dtype=np.int32)})
    catalogue = expressions.numbered(engine.give("catalogue", numbered))
    rows = expressions.with_items(engine.table(INTERACTIONS), catalogue)
    engine.keep(ROWS, expressions.sequences(rows, one_event=accepted.one_event))


def _check_order(items: pa.Table) -> None:
    """The engine's order of strings must be that of their bytes, as item indices are."""
    ids = items[ITEM_ID].to_pylist()
    if any(a.encode() >= b.encode() for a, b in pairwise(ids)):
        raise InputError(
            "catalogue",
            found="ids out of the order of their bytes",
            expected="the engine to sort by bytes",
            remedy="Report this as a bug, with the catalogue's ids.",
        )
