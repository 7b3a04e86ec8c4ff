"""A Spark session as the expressions need it, and files on any filesystem that it reads."""

import logging
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from models.errors import ConfigError, MissingExtraError
from offline.config import EngineRules

SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "true",
    "spark.sql.legacy.parquet.nanosAsLong": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}
"""Of every session, whoever started it: equal results rest on them."""
STARTING = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
"""Only where the session starts here."""


def open_session(rules: EngineRules) -> Any:
    """The active session, or a new one; close it with its own `stop`.

    Raises:
        MissingExtraError: PySpark is not installed.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise MissingExtraError(
            "--engine spark",
            found=f"no package {error.name}",
            expected="PySpark and its ibis backend",
            remedy="pip install 'shortlist[spark]', and have Java 17 or newer",
        ) from error
    builder = SparkSession.builder.appName("shortlist")
    if SparkSession.getActiveSession() is None:
        for key, value in {**STARTING, "spark.driver.memory": _java_size(rules.memory_limit)}.items():
            builder = builder.config(key, value)
    if (rules.master or "local").startswith("local") and "PYSPARK_GATEWAY_PORT" not in os.environ:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if rules.master is not None:
        builder = builder.master(rules.master)
    logging.getLogger("py4j").setLevel(logging.WARNING)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    for key, value in SETTINGS.items():
        session.conf.set(key, value)
    return session


def _java_size(limit: str) -> str:
    """
    >>> _java_size("1GB"), _java_size("512 MiB"), _java_size("1.5GiB")
    ('1024m', '512m', '1536m')
    """
    number, unit = float(limit.rstrip("GMBi ")), limit[-3:] if limit.endswith("iB") else limit[-2:]
    return f"{int(number * (1024 if unit.startswith('G') else 1))}m"


def check_work(session: Any, rules: EngineRules) -> None:
    """A cluster's tables need a place that all of its nodes reach.

    Raises:
        ConfigError: a master that is not local, and no such place.
    """
    if rules.work is None and not session.sparkContext.master.startswith("local"):
        raise ConfigError(
            "engine.work",
            found="nothing",
            expected="a folder or URI that all nodes of the cluster reach",
            remedy="Give --work, such as s3a://bucket/shortlist.",
        )


def uri_of(path: Path) -> str:
    """The URI of a local path as Hadoop takes it: without percent signs for odd characters."""
    return f"file://{path.resolve()}"


class Files:
    """Files by URI, through the Hadoop filesystems that the session knows.

    Args:
        session: whose configuration and credentials count.
    """

    def __init__(self, session: Any) -> None:
        self._jvm = session.sparkContext._jvm
        self._conf = session.sparkContext._jsc.hadoopConfiguration()

    def _path(self, uri: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(uri)

    def _system(self, uri: str) -> Any:
        return self._path(uri).getFileSystem(self._conf)

    def exists(self, uri: str) -> bool:
        """Whether there is a file or folder."""
        return bool(self._system(uri).exists(self._path(uri)))

    def is_folder(self, uri: str) -> bool:
        """Whether it is a folder."""
        return bool(self._system(uri).getFileStatus(self._path(uri)).isDirectory())

    def below(self, folder: str) -> list[str]:
        """Paths of all files below a folder, relative to it."""
        system = self._system(folder)
        top = system.getFileStatus(self._path(folder)).getPath().toString().rstrip("/") + "/"
        listed, found = system.listFiles(self._path(folder), True), []
        while listed.hasNext():
            found.append(listed.next().getPath().toString().removeprefix(top))
        return found

    def qualified(self, uri: str) -> str:
        """The URI as Spark's `_metadata.file_path` writes it, with odd characters as percent signs."""
        system = self._system(uri)
        return re.sub("^file:/+", "file:/", system.getFileStatus(self._path(uri)).getPath().toUri().toString())

    def fetch(self, uri: str, target: Path) -> None:
        """Copy a file or folder to this machine."""
        self._system(uri).copyToLocalFile(False, self._path(uri), self._path(uri_of(target)), True)

    def put(self, source: Path, uri: str) -> None:
        """Copy a file or folder from this machine, replacing what is there."""
        self._system(uri).copyFromLocalFile(False, True, self._path(uri_of(source)), self._path(uri))

    def remove(self, uri: str) -> None:
        """Delete a file or a whole folder."""
        self._system(uri).delete(self._path(uri), True)

    def stores_nanoseconds(self, uri: str, column: str) -> bool:
        """Whether a Parquet file holds a column as timestamps of nanoseconds, which Spark gives as whole numbers."""
        parquet = self._jvm.org.apache.parquet.hadoop
        reader = parquet.ParquetFileReader.open(parquet.util.HadoopInputFile.fromPath(self._path(uri), self._conf))
        try:
            schema = reader.getFileMetaData().getSchema()
            annotation = schema.getType(schema.getFieldIndex(column)).getLogicalTypeAnnotation()
            return annotation is not None and str(annotation.toString()).startswith("TIMESTAMP(NANOS")
        finally:
            reader.close()


@contextmanager
def fetched(uri: str, rules: EngineRules) -> Iterator[Path]:
    """A copy of a remote file on this machine, gone after the block; its name keeps its ending."""
    with tempfile.TemporaryDirectory(prefix="shortlist-fetched-") as folder:
        target = Path(folder) / uri.rstrip("/").rsplit("/", 1)[-1]
        Files(open_session(rules)).fetch(uri, target)
        yield target
