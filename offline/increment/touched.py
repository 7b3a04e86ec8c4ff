"""What new interactions and a changed catalogue change: counts of the users they touch, before and after."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from offline import expressions
from offline.config import BuildConfig
from offline.counts import RatingCounts, Transitions, counted_ratings, counted_transitions
from offline.ingest.columns import COUNT, FILE, ITEM, ITEM_ID, USER_ID
from offline.ingest.engine import Engine

if TYPE_CHECKING:
    from ibis.expr.types import Table

OLD_ROWS, TOUCHED_ROWS = "old_rows", "touched_rows"


@dataclass(frozen=True, slots=True)
class Part:
    """Counts of some users.

    Attributes:
        transitions: of their training parts.
        popularity: int64 [n_items].
        ratings: of their training parts.
        users: users with an interaction that counts.
        kept: interactions that count.
        repeats: rows that share the place of the row before.
    """

    transitions: Transitions
    popularity: npt.NDArray[np.int64]
    ratings: RatingCounts
    users: int
    kept: int
    repeats: int


def know_old_rows(engine: Engine, parts: Sequence[Path]) -> "Table":
    """The accepted rows of a state, read where they lie."""
    listed = ", ".join("'" + str(path).replace("'", "''") + "'" for path in parts)
    engine.run(f"CREATE OR REPLACE VIEW {OLD_ROWS} AS SELECT * FROM read_parquet([{listed}])")
    return engine.table(OLD_ROWS)


def keep_touched(engine: Engine, new: "Table", ids: pa.Array | None) -> "Table":
    """All rows, old and new, of users who have a new one or an old one of an item that came or went.

    Args:
        engine: holds the old rows.
        new: accepted rows.
        ids: of items that came or went; None = none did.
    """
    import ibis

    old = engine.table(OLD_ROWS)
    users = new.select(USER_ID)
    if ids is not None and len(ids):
        moved = engine.give("moved_items", pa.table({ITEM_ID: ids}))
        users = ibis.union(users, old.semi_join(moved, ITEM_ID).select(USER_ID))
    touched = engine.keep("touched_users", users.distinct())
    return engine.keep(TOUCHED_ROWS, ibis.union(old.semi_join(touched, USER_ID), new))


def part_of(engine: Engine, rows: "Table", ids: pa.Array, config: BuildConfig, name: str) -> Part:
    """Counts of rows by the very expressions that a build counts with.

    Args:
        engine: keeps a table of that name.
        rows: accepted rows.
        ids: the catalogue's, in index order.
        config: split and truncation.
        name: of the kept table.
    """
    numbered = pa.table({ITEM_ID: ids, ITEM: np.arange(len(ids), dtype=np.int32)})
    catalogue = expressions.numbered(engine.give(f"{name}_items", numbered))
    placed = expressions.truncated(
        expressions.sequences(expressions.with_items(rows, catalogue)), config.truncate_history
    )
    kept = engine.keep(name, expressions.parted(placed, config.split))
    popularity = np.zeros(len(ids), np.int64)
    counted: dict[str, Any] = engine.result(expressions.statistics(kept)).to_pylist()[0]
    popular = engine.result(expressions.popularity(kept))
    popularity[popular[ITEM].to_numpy()] = popular[COUNT].to_numpy()
    return Part(
        counted_transitions(engine.result(expressions.transitions(kept))),
        popularity,
        counted_ratings(engine.result(expressions.ratings(kept))),
        counted["users"],
        counted["kept"],
        counted["read"] - counted["kept"],
    )


def before(rows: "Table", first_new: int) -> "Table":
    """The rows that were there before the new files."""
    return rows.filter(rows[FILE] < first_new)
