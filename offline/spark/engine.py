"""Spark as a query engine: every kept table is partitioned Parquet in the work folder, gone when the engine closes."""

import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from models.errors import InputError
from offline.config import EngineRules
from offline.ingest.engine import Fields, Read, Source
from offline.spark.session import Files, check_work, open_session, uri_of

T = TypeVar("T")


class SparkEngine:
    """See `offline.ingest.engine.QueryEngine`. Several may share a session; each has tables of its own.

    Attributes:
        session: the Spark session, left running for the next engine.
        files: the filesystems it reads.
        work: URI of the folder of its tables.
    """

    def __init__(self, rules: EngineRules) -> None:
        import ibis

        self.rules = rules
        self.session = open_session(rules)
        check_work(self.session, rules)
        self.files = Files(self.session)
        self._here = Path(tempfile.mkdtemp(prefix="shortlist-spark-"))
        self._prefix = f"shortlist_{secrets.token_hex(4)}"
        place = uri_of(self._here) if rules.work is None else _as_uri(rules.work)
        self.work = f"{place.rstrip('/')}/{self._prefix}"
        self.backend = ibis.pyspark.connect(self.session)
        self._results = 0

    def read(self, name: str, sources: Sequence[Source], fields: Fields) -> Read:
        """See `QueryEngine.read`. Parquet is read where it lies; text goes through the one reader of this machine.

        Raises:
            InputError: a file is malformed, lacks a column, or holds ids as floating-point numbers.
        """
        from offline.spark.reading import read_sources

        frame, found = read_sources(self, sources, fields)
        frame.createOrReplaceTempView(self._view(name))
        return found

    def _view(self, name: str) -> str:
        return f"{self._prefix}_{name}"

    def frame(self, expression: Any) -> Any:
        """The Spark data frame of an expression."""
        return self.session.sql(self.backend.compile(expression))

    def table(self, name: str) -> Any:
        """A table, for expressions."""
        return self.backend.table(self._view(name))

    def give(self, name: str, table: pa.Table) -> Any:
        """Make an Arrow table known by name."""
        self.upload(table, f"{self.work}/{name}")
        return self._known(name)

    def upload(self, table: pa.Table, uri: str) -> None:
        """Write an Arrow table as Parquet where all nodes reach it."""
        here = self._here / f"{secrets.token_hex(4)}.parquet"
        pq.write_table(table, here)
        self.files.put(here, f"{uri}/part-00000.parquet")
        here.unlink()

    def _known(self, name: str) -> Any:
        self.session.read.parquet(f"{self.work}/{name}").createOrReplaceTempView(self._view(name))
        return self.table(name)

    def keep(self, name: str, expression: Any) -> Any:
        """Compute an expression once, as partitioned Parquet."""
        self.write(self.frame(expression), f"{self.work}/{name}")
        return self._known(name)

    def view(self, name: str, expression: Any) -> Any:
        """Make an expression known by a new name, to be computed at each use."""
        self.frame(expression).createOrReplaceTempView(self._view(name))
        return self.table(name)

    def write(self, frame: Any, uri: str) -> None:
        """Compute a frame into a folder of part files.

        Raises:
            InputError: Spark failed, mostly on what it reads.
        """
        from pyspark.errors import PySparkException

        try:
            frame.write.mode("overwrite").parquet(uri)
        except PySparkException as error:
            raise InputError(
                uri,
                found=str(error).strip().split("\n")[0][:300],
                expected="readable inputs and a writable work folder",
                remedy="Correct what Spark names and run again; nothing was published.",
            ) from error

    def result(self, expression: Any) -> pa.Table:
        """What an expression yields: Spark writes its partitions side by side, they are put together in their order."""
        self._results += 1
        uri = f"{self.work}/result-{self._results}"
        self.write(self.frame(expression), uri)
        try:
            return self.assembled(uri)
        finally:
            self.files.remove(uri)

    def assembled(self, uri: str) -> pa.Table:
        """One Arrow table of a folder of part files, in the order of their names."""
        here = self._here / secrets.token_hex(4)
        self.files.fetch(uri, here)
        try:
            return pa.concat_tables([pq.read_table(path) for path in sorted(here.glob("*.parquet"))])
        finally:
            shutil.rmtree(here)

    def fetched_parts(self, uri: str, read: Callable[[Path], Iterator[T]]) -> Iterator[T]:
        """What `read` makes of one part file, which lies here meanwhile."""
        here = self._here / secrets.token_hex(4)
        self.files.fetch(uri, here)
        try:
            yield from read(here)
        finally:
            here.unlink()

    def drop(self, *names: str) -> None:
        """Forget tables and delete what was kept of them."""
        for name in names:
            self.session.catalog.dropTempView(self._view(name))
            self.files.remove(f"{self.work}/{name}")

    def byte_length(self, text: Any) -> Any:
        """Expression: bytes of a text in UTF-8."""
        import ibis

        @ibis.udf.scalar.builtin(name="octet_length")  # type: ignore[untyped-decorator]
        def octet_length(value: str) -> int: ...  # type: ignore[empty-body]

        return octet_length(text)

    def close(self) -> None:
        """Delete the tables; the session stays."""
        self.files.remove(self.work)
        shutil.rmtree(self._here, ignore_errors=True)


def _as_uri(place: str) -> str:
    return place if "://" in place else uri_of(Path(place))
