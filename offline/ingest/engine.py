"""The query engine: DuckDB behind ibis, with stated threads and memory."""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from models.errors import MissingExtraError
from offline.config import EngineRules


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


class Engine:
    """A private, empty database; use it as a context manager.

    Attributes:
        backend: the ibis backend, for expressions.
    """

    def __init__(self, rules: EngineRules) -> None:
        self._spill = Path(tempfile.mkdtemp(prefix="shortlist-spill-"))
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

    def keep(self, name: str, expression: Any) -> Any:
        """Compute an ibis expression once, as a table of a new name."""
        return self.backend.create_table(name, expression)

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
