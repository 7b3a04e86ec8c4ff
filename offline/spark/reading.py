"""Interaction files as one Spark data frame whose file and row numbers are those that one machine would give.

The number of a row is its place in its file, which Parquet's own metadata tells whoever reads which part of it. Files
of a folder are numbered by path. So the order of input rows, which decides equal timestamps, does not depend on how
Spark divides the work.
"""

from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from models.errors import InputError
from offline.ingest.columns import FILE, ROW, TIMESTAMP, TIMESTAMP_NS, TIMESTAMP_WHOLE
from offline.ingest.engine import Engine, Fields, Read, Source
from offline.ingest.files import read_files
from offline.ingest.formats import IDS, check_columns, format_of
from offline.ingest.parquet import refuse_id_type
from offline.ingest.sources import is_hidden, nothing_below
from offline.spark.session import fetched, uri_of

if TYPE_CHECKING:
    from offline.spark.engine import SparkEngine

TEXT_ENDINGS = (".csv", ".csv.gz", ".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz")
WHOLE_TYPES = ("tinyint", "smallint", "int", "bigint")
MOMENTS = ("timestamp", "timestamp_ntz", "date")
PATH = "shortlist_path"


def read_sources(engine: "SparkEngine", sources: Sequence[Source], fields: Fields) -> tuple[Any, Read]:
    """A frame of file, row, the fields as text, timestamp_whole, timestamp_ns; and the files in the order of their
    numbers.

    Raises:
        InputError: a file is malformed, lacks a column, or holds ids as floating-point numbers.
    """
    frames, names, typed = [], list[str](), True
    for source in sources:
        if str(source).lower().endswith(TEXT_ENDINGS):
            frames.append(_text(engine, source, len(names), fields))
            names.append(str(source))
            typed = False
        else:
            below = _below(engine, source)
            listed = [f"{source}/{path}" for path in below] or [str(source)]
            uris = [f"{_uri(source)}/{path}" for path in below] or [_uri(source)]
            frame, is_typed = _parquet(engine, dict(zip(uris, listed, strict=True)), len(names), fields)
            frames.append(frame)
            names.extend(listed)
            typed = typed and is_typed
    return reduce(lambda left, right: left.unionByName(right), frames), Read(tuple(names), typed)


def _uri(source: Source) -> str:
    return uri_of(source) if isinstance(source, Path) else source.rstrip("/")


def _text(engine: "SparkEngine", source: Source, number: int, fields: Fields) -> Any:
    """CSV and JSON lines, whose rows only a reader from their beginning can number: read here, then handed to Spark."""
    from pyspark.sql import functions

    uri = f"{engine.work}/text-{number}"
    with Engine(engine.rules) as local:
        if isinstance(source, Path):
            read_files(local, "rows", [source], fields)
        else:
            with fetched(source, engine.rules) as path:
                read_files(local, "rows", [path], fields)
        engine.upload(local.arrow("SELECT * FROM rows"), uri)
    return engine.session.read.parquet(uri).withColumn(FILE, functions.lit(number).cast("int"))


def _below(engine: "SparkEngine", source: Source) -> list[str]:
    """Relative paths of a folder's Parquet files in order; none of a file."""
    if isinstance(source, Path) and not source.is_dir():
        format_of(source)
    uri = _uri(source)
    if not engine.files.exists(uri):
        raise InputError(
            str(source), found="no such file or folder", expected="Parquet files", remedy="Check the path."
        )
    if not engine.files.is_folder(uri):
        return []
    below = [path for path in engine.files.below(uri) if path.endswith(".parquet") and not is_hidden(path)]
    if not below:
        raise nothing_below(str(source))
    return sorted(below, key=str.encode)


def _parquet(engine: "SparkEngine", files: dict[str, str], first: int, fields: Fields) -> tuple[Any, bool]:
    """A frame of Parquet files, by URI and name, numbered from `first`; whether no timestamp is text."""
    from pyspark.errors import PySparkException
    from pyspark.sql import functions

    some_uri, some_name = next(iter(files.items()))
    reader = engine.session.read.option("mergeSchema", "true").option("recursiveFileLookup", "true")
    try:
        frame = reader.parquet(*(_escaped(uri) for uri in files))
    except PySparkException as error:
        raise InputError(
            some_name,
            found=str(error).strip().split("\n")[0][:300],
            expected="Parquet files of one kind of columns",
            remedy="Give files of different columns one by one.",
        ) from error
    check_columns(some_name, frame.columns, fields)
    types, time = dict(frame.dtypes), fields.names[TIMESTAMP]
    nanos = types[time] == "bigint" and engine.files.stores_nanoseconds(some_uri, time)
    stored = nanos or types[time] in MOMENTS
    whole = types[time] in WHOLE_TYPES and not stored
    columns = [
        functions.regexp_replace("_metadata.file_path", "^file:/+", "file:/").alias(PATH),
        (functions.col("_metadata.row_index") + 1).alias(ROW),
        *(_field(some_name, field, name, types, stored=stored).alias(field) for field, name in fields.names.items()),
        _whole(time, whole=whole).alias(TIMESTAMP_WHOLE),
        _moment(time, nanos=nanos, stored=stored).alias(TIMESTAMP_NS),
    ]
    paths, numbers = [engine.files.qualified(uri) for uri in files], range(first, first + len(files))
    uri = f"{engine.work}/files-{first}"
    engine.upload(pa.table({PATH: paths, FILE: pa.array(numbers, pa.int32())}), uri)
    numbered = engine.session.read.parquet(uri)
    rows = frame.select(*columns).join(functions.broadcast(numbered), PATH, "left")
    unlisted = functions.raise_error(functions.concat(functions.lit("read a file that was not listed: "), PATH))
    return rows.withColumn(FILE, functions.coalesce(FILE, unlisted.cast("int"))).drop(PATH), whole or stored


def _escaped(uri: str) -> str:
    """Spark takes paths for glob patterns."""
    return "".join(f"\\{sign}" if sign in "[]{}*?\\" else sign for sign in uri)


def _field(file: str, field: str, name: str, types: dict[str, str], *, stored: bool) -> Any:
    from pyspark.sql import functions

    kind, column = types.get(name), functions.col(f"`{name.replace('`', '``')}`")
    if kind is None or (field == TIMESTAMP and (stored or kind in WHOLE_TYPES)):
        return functions.lit(None).cast("string")
    if field in IDS and not (kind in ("string", "binary", *WHOLE_TYPES) or kind.endswith(",0)")):
        raise refuse_id_type(file, name, kind.upper())
    return functions.decode(column, "UTF-8") if kind == "binary" else column.cast("string")


def _whole(name: str, *, whole: bool) -> Any:
    """A column of whole numbers, else NULL."""
    from pyspark.sql import functions

    column = functions.col(f"`{name.replace('`', '``')}`").cast("bigint")
    return column if whole else functions.lit(None).cast("bigint")


def _moment(name: str, *, nanos: bool, stored: bool) -> Any:
    """Nanoseconds of a column that Parquet stores as timestamps, else NULL."""
    from pyspark.sql import functions

    column = functions.col(f"`{name.replace('`', '``')}`")
    if nanos:
        return column
    return functions.unix_micros(column.cast("timestamp")) * 1000 if stored else functions.lit(None).cast("bigint")
