"""Interactions and catalogue, read and joined: what the jobs and the evaluation start from."""

from collections.abc import Callable, Sequence
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
from models.retrieval import Items
from models.words import Split
from offline import expressions
from offline.config import BuildConfig, UnknownItems
from offline.ingest.catalogue import Catalogue, items_only, read_catalogue
from offline.ingest.columns import COUNT, COUNTS, ITEM, ITEM_ID, LENGTH, NEXT_ITEM, RATING_COUNT, RATING_SUM, USER_ID
from offline.ingest.engine import Engine
from offline.ingest.interactions import INTERACTIONS, read_interactions
from offline.ingest.report import IngestReport
from offline.split import Sequences

ROWS = "sequence_rows"


@dataclass(frozen=True, slots=True)
class Inputs:
    """The user's files.

    Attributes:
        interactions: in the order in which equal timestamps are to be taken.
        items: the catalogue; None = the items are those of the interactions.
    """

    interactions: tuple[Path, ...]
    items: Path | None = None


@dataclass(frozen=True, slots=True)
class Transitions:
    """How often an item directly follows another in training sequences.

    Attributes:
        sources: int32 [E], rising.
        targets: int32 [E], rising within a source.
        counts: int64 [E].
    """

    sources: Items
    targets: Items
    counts: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Dataset:
    """Everything read, inside the engine; use it as a context manager.

    Attributes:
        items: the catalogue table in item index order.
        ids: its ids.
        report: what was dropped and why.
        split: how the sequences are divided.
    """

    engine: Engine
    items: pa.Table
    ids: ItemIds
    report: IngestReport
    split: Split

    def _rows(self) -> Any:
        return self.engine.backend.table(ROWS)

    def _arrow(self, expression: Callable[[Any], Any]) -> pa.Table:
        return self.engine.backend.to_pyarrow(expression(self._rows()))

    def transitions(self) -> Transitions:
        """Counted transitions of the training part."""
        table = self._arrow(expressions.transitions)
        return Transitions(
            _numbers(table, ITEM, np.int32), _numbers(table, NEXT_ITEM, np.int32), _numbers(table, COUNT, np.int64)
        )

    def popularity(self) -> npt.NDArray[np.int64]:
        """int64 [n_items]: training interactions of each item."""
        return self._per_item(self._arrow(expressions.popularity), COUNT, np.int64)

    def ratings(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        """Sum float64 [n_items] and number int64 [n_items] of each item's training ratings."""
        table = self._arrow(expressions.ratings)
        return self._per_item(table, RATING_SUM, np.float64), self._per_item(table, RATING_COUNT, np.int64)

    def _per_item(self, table: pa.Table, column: str, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        dense = np.zeros(len(self.ids), dtype)
        dense[_numbers(table, ITEM, np.int64)] = _numbers(table, column, dtype)
        return dense

    def sequences(self) -> Sequences:
        """All users' sequences after truncation."""
        users, ordered = self._arrow(expressions.users), self._arrow(expressions.ordered)
        offsets = np.concatenate(([0], np.cumsum(_numbers(users, LENGTH, np.int64)))).astype(np.int64)
        user_ids = users[USER_ID].combine_chunks()
        return Sequences(user_ids, offsets, _numbers(ordered, ITEM, np.int32), self.split)

    def statistics(self) -> dict[str, Any]:
        """Facts for the manifest."""
        rows = self._rows()
        counted = rows.filter(rows[COUNTS])
        read, kept, users = map(self._one, (rows.count(), counted.count(), counted[USER_ID].nunique()))
        return {
            "users": users,
            "items": len(self.ids),
            "interactions": kept,
            "repeats_under_another_event": read - kept,
        }

    def _one(self, expression: Any) -> int:
        return int(self.engine.backend.to_pyarrow(expression).as_py())

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


def _numbers(table: pa.Table, column: str, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    return np.asarray(table[column].to_numpy()).astype(dtype)


def read_dataset(inputs: Inputs, config: BuildConfig) -> Dataset:
    """Read the user's files.

    Raises:
        InputError: a file is malformed or nothing usable remains.
    """
    engine = Engine(config.engine)
    try:
        catalogue = None if inputs.items is None else read_catalogue(engine, inputs.items, config)
        known = None if catalogue is None else catalogue.table.select([ITEM_ID])
        report = read_interactions(engine, inputs.interactions, config, known)
        items = _all_items(engine, catalogue, config)
        ids = ItemIds.from_strings(items[ITEM_ID].to_pylist())
        return _joined(
            engine, items, ids, IngestReport(report, None if catalogue is None else catalogue.report), config
        )
    except BaseException:
        engine.close()
        raise


def read_against(paths: Sequence[Path], ids: ItemIds, config: BuildConfig) -> Dataset:
    """Read interactions for a catalogue that exists, such as a bundle's.

    Raises:
        InputError: a file is malformed or nothing usable remains.
    """
    engine = Engine(config.engine)
    try:
        items = items_only(ids.strings(np.arange(len(ids), dtype=np.int32)))
        rules = config.interactions.model_copy(update={"unknown_items": UnknownItems.DROP})
        config = config.model_copy(update={"interactions": rules})
        report = read_interactions(engine, paths, config, items.select([ITEM_ID]))
        return _joined(engine, items, ids, IngestReport(report, None), config)
    except BaseException:
        engine.close()
        raise


def _all_items(engine: Engine, catalogue: Catalogue | None, config: BuildConfig) -> pa.Table:
    """The catalogue, and bare items for ids that only interactions hold, where the rules keep those."""
    if catalogue is not None and config.interactions.unknown_items is UnknownItems.DROP:
        return catalogue.table
    engine.register("catalogue_ids", items_only([]) if catalogue is None else catalogue.table)
    extra = engine.arrow(
        f"SELECT DISTINCT {ITEM_ID} FROM {INTERACTIONS} ANTI JOIN catalogue_ids USING ({ITEM_ID}) ORDER BY {ITEM_ID}"
    )
    engine.unregister("catalogue_ids")
    bare = items_only(extra[ITEM_ID].to_pylist())
    if catalogue is None:
        return bare
    table = pa.concat_tables([catalogue.table, bare], promote_options="default")
    return table.sort_by(ITEM_ID)


def _joined(engine: Engine, items: pa.Table, ids: ItemIds, report: IngestReport, config: BuildConfig) -> Dataset:
    _check_order(items)
    numbered = pa.table({ITEM_ID: items[ITEM_ID], ITEM: np.arange(len(ids), dtype=np.int32)})
    engine.register("catalogue", numbered)
    rows = expressions.with_items(engine.backend.table(INTERACTIONS), engine.backend.table("catalogue"))
    rows = expressions.truncated(expressions.sequences(rows), config.truncate_history)
    engine.keep(ROWS, expressions.parted(rows, config.split))
    engine.run(f"DROP TABLE {INTERACTIONS}")
    return Dataset(engine, items, ids, report, config.split)


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
