"""The query engine: what jobs ask of any, and the default, DuckDB behind ibis with stated threads and memory."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import pyarrow as pa

from models.errors import InputError, MissingExtraError
from offline.config import EngineRules

Source = Path | str
"""An input: a local file or folder, or the URI of one that only a cluster's engine reads."""


@dataclass(frozen=True, slots=True)
class Fields:
    """Which columns to read: our name -> the file's name, and those that must be there."""

    names: Mapping[str, str]
    required: Sequence[str]


@dataclass(frozen=True, slots=True)
class Read:
    """What an engine found where it read.

    Attributes:
        files: the files' names.
        typed: no timestamp is text, and nothing was read yet: reading at each use costs less than keeping the rows.
    """

    files: tuple[str, ...]
    typed: bool


class QueryEngine(Protocol):
    """Tables by name, made of files, Arrow tables and ibis expressions over each other."""

    def read(self, name: str, sources: Sequence[Source], fields: Fields) -> Read:
        """Make a table of interaction files: file, row, the fields as text, timestamp_whole, timestamp_ns.

        Files are numbered in the order given, those of a folder in the order of their paths' bytes; rows from 1.
        """
        ...

    def table(self, name: str) -> Any:
        """A table, for expressions."""
        ...

    def give(self, name: str, table: pa.Table) -> Any:
        """Make an Arrow table known by name, for expressions."""
        ...

    def keep(self, name: str, expression: Any) -> Any:
        """Compute an expression once, as a table of a new name."""
        ...

    def view(self, name: str, expression: Any) -> Any:
        """Make an expression known by a new name, to be computed at each use."""
        ...

    def result(self, expression: Any) -> pa.Table:
        """What an expression yields, in its order."""
        ...

    def drop(self, *names: str) -> None:
        """Forget tables."""
        ...

    def byte_length(self, text: Any) -> Any:
        """Expression: bytes of a text in UTF-8."""
        ...

    def close(self) -> None:
        """Free everything."""
        ...


def _connect(rules: EngineRules, spill: Path) -> Any:
    try:
        import ibis
    except ImportError as error:
        raise MissingExtraError(
            "reading interactions",
            found=f"no package {error.name}",
            expected="DuckDB and ibis",
            remedy="pip install 'shortlist[build]'",
        ) from error
    limit = rules.memory_limit.replace(" ", "")
    backend = ibis.duckdb.connect(threads=rules.threads, memory_limit=limit, temp_directory=str(spill))
    backend.con.execute("SET TimeZone = 'UTC'; SET enable_progress_bar = false")
    return backend


@contextmanager
def _readable() -> Iterator[None]:
    """Say of what is wrong in a file that it is the file's fault."""
    import duckdb

    try:
        yield
    except (duckdb.InvalidInputException, duckdb.IOException) as error:
        raise InputError(
            "interactions",
            found=str(error).strip().split("\n")[0][:300],
            expected="well-formed files in UTF-8",
            remedy="Correct the file and run again; nothing was published.",
        ) from error


class Engine:
    """A private, empty database; use it as a context manager.

    Attributes:
        backend: the ibis backend, for expressions.
    """

    def __init__(self, rules: EngineRules) -> None:
        self._spill = Path(tempfile.mkdtemp(prefix="shortlist-spill-"))
        self._views: set[str] = set()
        self.backend = _connect(rules, self._spill)

    def run(self, query: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Rows of a query in the engine's own SQL."""
        rows: list[tuple[Any, ...]] = self.backend.con.execute(query, list(parameters)).fetchall()
        return rows

    def arrow(self, query: str) -> pa.Table:
        """A query's result as an Arrow table."""
        return self.backend.con.sql(query).to_arrow_table()

    def register(self, name: str, source: Any) -> None:
        """Make an Arrow table or reader known by name; a reader is consumed by its first query."""
        self.backend.con.register(name, source)

    def unregister(self, name: str) -> None:
        """Forget a registered source."""
        self.backend.con.unregister(name)

    def read(self, name: str, sources: Sequence[Source], fields: Fields) -> Read:
        """See `QueryEngine.read`.

        Raises:
            InputError: a file is malformed, lacks a column, or is none that this engine reads.
        """
        from offline.ingest.files import read_files
        from offline.ingest.sources import local_files

        paths = local_files(sources)
        return Read(tuple(map(str, paths)), read_files(self, name, paths, fields))

    def table(self, name: str) -> Any:
        """A table, for expressions."""
        return self.backend.table(name)

    def give(self, name: str, table: pa.Table) -> Any:
        """Make an Arrow table known by name."""
        self.register(name, table)
        return self.table(name)

    def keep(self, name: str, expression: Any) -> Any:
        """Compute an ibis expression once, as a table of a new name.

        Raises:
            InputError: a file that is read at each use is malformed.
        """
        self.drop(name)
        with _readable():
            return self.backend.create_table(name, expression)

    def view(self, name: str, expression: Any) -> Any:
        """Make an ibis expression known by a new name, to be computed at each use."""
        self.define(name, self.backend.compile(expression))
        return self.table(name)

    def define(self, name: str, query: str) -> None:
        """Make a query in the engine's own SQL known by a new name, to be computed at each use."""
        self.drop(name)
        self.run(f"CREATE VIEW {name} AS {query}")
        self._views.add(name)

    def save(self, name: str, path: Path) -> None:
        """Write a table as one Parquet file."""
        self.run(f"COPY {name} TO {literal(str(path))} (FORMAT parquet, COMPRESSION zstd)")

    def result(self, expression: Any) -> pa.Table:
        """What an expression yields, in its order.

        Raises:
            InputError: a file that is read at each use is malformed.
        """
        with _readable():
            return self.backend.to_pyarrow(expression)

    def drop(self, *names: str) -> None:
        """Forget tables."""
        for name in names:
            self.run(f"DROP {'VIEW' if name in self._views else 'TABLE'} IF EXISTS {name}")
            self._views.discard(name)

    def byte_length(self, text: Any) -> Any:
        """Expression: bytes of a text in UTF-8."""
        import ibis

        @ibis.udf.scalar.builtin(name="strlen")  # type: ignore[untyped-decorator]
        def strlen(value: str) -> int: ...  # type: ignore[empty-body]

        return strlen(text)

    def columns(self, query: str) -> dict[str, str]:
        """Column name -> type, as the engine writes types."""
        return {row[0]: row[1] for row in self.run(f"DESCRIBE {query}")}

    def close(self) -> None:
        """Free memory and remove what was spilled."""
        self.backend.disconnect()
        shutil.rmtree(self._spill, ignore_errors=True)

    def __enter__(self) -> Self:
        """The engine itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()


def quoted(name: str) -> str:
    """An identifier for SQL.

    >>> quoted('a"b')
    '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A string for SQL.

    >>> literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"
