"""The scratch database of one ingest: DuckDB on disk, so that memory stays bounded whatever the data set's size."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from offline.datasets.raw import RawFolder
from offline.datasets.rejects import Rejects

MEMORY_LIMIT = "2GB"
"""What DuckDB may hold in memory; the rest is spilled to the scratch folder."""

MACROS = (
    r"create macro tidy(t) as nullif(trim(regexp_replace(t, '[\s\x{85}\x{a0}\x{2028}\x{2029}]+', ' ', 'g')), '')",
    r"create macro amount(t) as try_cast(nullif(regexp_extract(replace(t, ',', ''), '\d+(\.\d+)?'), '') as double)",
)
"""`tidy`: white space and line breaks collapsed, empty = NULL. `amount`: the first number in a text such as `$1,299`
or `from 14.99`, NULL where there is none."""


@dataclass(frozen=True, slots=True)
class RatingScale:
    """Lowest and highest rating that a person can give."""

    low: float
    high: float


@dataclass(slots=True)
class Workspace:
    """What a reader works with.

    Attributes:
        con: DuckDB; a reader leaves the tables `interactions` (row, user_id, item_id, timestamp, rating) and `items`
            (item_id and what the publisher says of it) there.
        raw: the raw files.
        ratings: scale of the ratings; None = there are none.
        rejects: what could not be used.
    """

    con: duckdb.DuckDBPyConnection
    raw: RawFolder
    ratings: RatingScale | None = None
    rejects: Rejects = field(default_factory=Rejects)

    def number(self, query: str) -> int:
        """The one number that a query gives."""
        row = self.con.execute(query).fetchone()
        return int(row[0]) if row else 0


@contextmanager
def scratch_database(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A DuckDB database in `folder`, with the macros of the readers; nothing is ever fetched from the network."""
    config = {
        "memory_limit": MEMORY_LIMIT,
        "temp_directory": str(folder / "spill"),
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
    }
    with (
        tempfile.TemporaryDirectory(dir=folder) as place,
        duckdb.connect(f"{place}/ingest.duckdb", config=config) as con,
    ):
        for statement in ("set timezone = 'UTC'", *MACROS):
            con.execute(statement)
        yield con
