"""Parquet: by the engine's own reader, on all of its threads, wherever that sees the types that Arrow's does."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet

from models.errors import InputError
from offline.ingest.columns import FILE, ROW, TIMESTAMP, TIMESTAMP_NS, TIMESTAMP_WHOLE
from offline.ingest.engine import Engine, Fields, literal, quoted
from offline.ingest.formats import IDS, check_columns, number_rows, well_formed
from offline.ingest.timestamps import GREATEST

FILE_ROW = "file_row_number"
"""The engine's own column."""
WHOLE_TYPES = re.compile("^U?(TINYINT|SMALLINT|INTEGER|BIGINT)$")
TIMESTAMP_TYPES = re.compile(r"^(TIMESTAMP|DATE)")
ID_TYPES = re.compile(r"^(VARCHAR|U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|DECIMAL\(\d+,0\)|UUID|BLOB|ENUM.*)$")


class Scan(NamedTuple):
    """A query of the engine's own reader: file, row, the fields as text, timestamp_whole, timestamp_ns."""

    query: str
    typed: bool


def scan(engine: Engine, number: int, path: Path, fields: Fields) -> Scan | None:
    """How the engine itself reads a file; None where its reader and Arrow's might not read the same."""
    with well_formed(path), pyarrow.parquet.ParquetFile(path) as file:
        schema = file.schema_arrow
        check_columns(path, schema.names, fields)
        if FILE_ROW in map(str.lower, schema.names):
            return None
        types = _types(engine, schema)
        source = f"read_parquet({literal(_escaped(path))}, hive_partitioning = false, {FILE_ROW} = true)"
        own = engine.columns(f"SELECT * FROM {source}")
    if own != {**types, FILE_ROW: "BIGINT"}:
        return None
    texts = [
        f"{_parquet_text(path, field, name, types)} AS {field}"
        for field, name in fields.names.items()
        if field != TIMESTAMP
    ]
    text, whole, moment, typed = _times(path, fields.names[TIMESTAMP], types)
    query = (
        f"SELECT {number}::INTEGER AS {FILE}, {FILE_ROW} + 1 AS {ROW}, {', '.join(texts)}, {text} AS {TIMESTAMP}, "
        f"{whole}::BIGINT AS {TIMESTAMP_WHOLE}, {moment}::BIGINT AS {TIMESTAMP_NS} FROM {source}"
    )
    return Scan(query, typed)


def _types(engine: Engine, schema: pa.Schema) -> Mapping[str, str]:
    """The engine's types of what Arrow reads, by column."""
    engine.register("described", schema.empty_table())
    try:
        return engine.columns("SELECT * FROM described")
    finally:
        engine.unregister("described")


def _times(path: Path, name: str, types: Mapping[str, str]) -> tuple[str, str, str, bool]:
    """Expressions of a time as text, as a whole number and as nanoseconds, and whether it needs no text."""
    kind, column = types[name], quoted(name)
    if TIMESTAMP_TYPES.match(kind):
        return "NULL::VARCHAR", "NULL", _parquet_text(path, TIMESTAMP, name, types), True
    if WHOLE_TYPES.match(kind):
        text = f"CASE WHEN {column} > {GREATEST} THEN {column}::VARCHAR END" if kind == "UBIGINT" else "NULL::VARCHAR"
        return text, f"try_cast({column} AS BIGINT)", "NULL", True
    return _parquet_text(path, TIMESTAMP, name, types), "NULL", "NULL", False


def _escaped(path: Path) -> str:
    """The engine takes paths for patterns."""
    return "".join(f"[{sign}]" if sign in "[]*?" else sign for sign in str(path))


def load(engine: Engine, table: str, path: Path, fields: Fields) -> None:
    """Make a raw table through Arrow's reader: see `offline.ingest.files.load`."""
    with pyarrow.parquet.ParquetFile(path) as file:
        check_columns(path, file.schema_arrow.names, fields)
        wanted = [name for name in fields.names.values() if name in file.schema_arrow.names]
        schema = pa.schema([file.schema_arrow.field(name) for name in wanted])
        types = _types(engine, schema)
        columns = [f"{_parquet_text(path, field, name, types)} AS {field}" for field, name in fields.names.items()]
        batches = (batch.select(wanted) for batch in file.iter_batches(columns=wanted))
        number_rows(engine, table, pa.RecordBatchReader.from_batches(schema, batches), columns)


def _parquet_text(path: Path, field: str, name: str, types: Mapping[str, str]) -> str:
    kind, column = types.get(name), quoted(name)
    if kind is None:
        return "NULL::VARCHAR"
    if field in IDS and not ID_TYPES.match(kind):
        raise refuse_id_type(path, name, kind)
    if TIMESTAMP_TYPES.match(kind):
        return f"epoch_ns({column}::TIMESTAMP_NS)"
    if kind.endswith("[]"):
        return f"to_json({column})::VARCHAR"
    return f"decode({column})" if kind == "BLOB" else f"{column}::VARCHAR"


def refuse_id_type(path: Path | str, name: str, kind: str) -> InputError:
    """The refusal of a column of ids of another type."""
    return InputError(
        f"{path}, column {name}",
        found=f"type {kind}",
        expected="strings or whole numbers",
        remedy="Store ids as strings; floating-point numbers do not keep them.",
    )
