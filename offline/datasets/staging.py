"""Staged raw rows become the tables `interactions` and `items`; what cannot be used is counted on the way."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from offline.datasets.raw import is_gzip
from offline.datasets.rejects import EXAMPLES, Line, Reason
from offline.datasets.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Staged:
    """A raw file as a table.

    Attributes:
        table: its name; the column `row` is the record's ordinal in the file, from 1.
        file: name of the raw file, for reports.
        locate: line numbers and beginnings of the records with these ordinals.
    """

    table: str
    file: str
    locate: Callable[[Collection[int]], list[Line]]


def quoted(value: object) -> str:
    """An SQL string literal.

    >>> quoted("it's")
    "'it''s'"
    """
    return "'" + str(value).replace("'", "''") + "'"


def compression(path: Path) -> str:
    """DuckDB's word for the compression of a file, as an SQL string literal."""
    return quoted("gzip" if is_gzip(path) else "none")


def write_interactions(
    work: Workspace, staged: Staged, *, user: str, item: str, timestamp: str, rating: str = "null", where: str = "true"
) -> None:
    """Make the table `interactions` (row, user_id, item_id, timestamp, rating) from a staged one.

    Rows without a user, an item or a timestamp are left out and counted; a rating outside the scale is emptied and
    counted. `user`, `item` (text), `timestamp` (bigint), `rating` (double) and `where` are SQL over the staged table.
    """
    work.con.execute(
        f"create or replace table parsed as select row, nullif({user}, '') as user_id, nullif({item}, '') as item_id, "
        f"({timestamp})::bigint as timestamp, try_cast({rating} as double) as rating from {staged.table} where {where}"
    )
    count_rejects(work, staged, Reason.NO_USER, "user_id is null")
    count_rejects(work, staged, Reason.NO_ITEM, "user_id is not null and item_id is null")
    count_rejects(
        work, staged, Reason.NO_TIMESTAMP, "user_id is not null and item_id is not null and timestamp is null"
    )
    sound = _sound_rating(work)
    count_rejects(work, staged, Reason.RATING, f"rating is not null and not ({sound})")
    work.con.execute(
        f"create or replace table interactions as "
        f"select row, user_id, item_id, timestamp, case when {sound} then rating end as rating "
        "from parsed where user_id is not null and item_id is not null and timestamp is not null"
    )
    work.con.execute(f"drop table parsed; drop table {staged.table}")


def write_items(work: Workspace, staged: Staged, *, item: str, columns: Mapping[str, str], where: str = "true") -> None:
    """Make the table `items` (item_id and `columns`) from a staged one; of several rows of an item the first counts.

    Args:
        work: the workspace.
        staged: the raw rows; the table is dropped afterwards.
        item: SQL of the id.
        columns: name in our catalogue -> SQL over the staged table.
        where: SQL: rows that the data set's protocol counts as items at all.
    """
    fields = "".join(f", {expression} as {name}" for name, expression in columns.items())
    work.con.execute(
        f"create or replace table parsed as select row, nullif({item}, '') as item_id, row_number() over (partition by "
        f"{item} order by row) as occurrence{fields} from {staged.table} where {where}"
    )
    count_rejects(work, staged, Reason.NO_ITEM, "item_id is null")
    count_rejects(work, staged, Reason.REPEATED_ITEM, "item_id is not null and occurrence > 1")
    work.con.execute(
        "create or replace table items as select * exclude (row, occurrence) from parsed "
        "where item_id is not null and occurrence = 1"
    )
    work.con.execute(f"drop table parsed; drop table {staged.table}")


def _sound_rating(work: Workspace) -> str:
    if work.ratings is None:
        return "false"
    return f"rating between {work.ratings.low} and {work.ratings.high}"


def count_rejects(work: Workspace, staged: Staged, reason: Reason, condition: str, *, table: str = "parsed") -> None:
    """Count the rows of `table` that meet a condition and note where in the raw file the first of them stand."""
    count = work.number(f"select count(*) from {table} where {condition}")
    if count:
        rows = work.con.execute(f"select row from {table} where {condition} order by row limit {EXAMPLES}").fetchall()
        work.rejects.add(staged.file, reason, count, staged.locate([row for (row,) in rows]))
