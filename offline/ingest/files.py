"""Reading files into the engine: CSV, JSONL (both also gzipped) and Parquet become one kind of raw table.

CSV and the lines of JSONL go through Arrow's reader, which keeps every byte of a field (DuckDB's own drops blanks
before a quote and guesses types), knows the number of a bad row and streams in blocks. Parquet goes through the
engine's own, on all of its threads, wherever that sees the types that Arrow's does. All fields arrive as text, times
that a Parquet file stores as numbers or moments excepted.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from models.errors import InputError
from offline.ingest.columns import FILE, ROW, TIMESTAMP, TIMESTAMP_NS, TIMESTAMP_WHOLE
from offline.ingest.engine import Engine, Fields, literal, quoted
from offline.ingest.places import place
from offline.ingest.timestamps import GREATEST

BLOCK_BYTES = 16 << 20
"""Read at once; no row may be longer."""
UNIT_SEPARATOR = "\x1f"
"""Cannot occur inside JSON text, so splitting lines at it never splits one."""
IDS = ("user_id", "item_id")

FILE_ROW = "file_row_number"
"""The engine's own column."""
WHOLE_TYPES = re.compile("^U?(TINYINT|SMALLINT|INTEGER|BIGINT)$")
TIMESTAMP_TYPES = re.compile(r"^(TIMESTAMP|DATE)")
ID_TYPES = re.compile(r"^(VARCHAR|U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|DECIMAL\(\d+,0\)|UUID|BLOB|ENUM.*)$")


class Format(StrEnum):
    """Formats of input files, told by the end of the name."""

    CSV = "csv"
    JSONL = "jsonl"
    PARQUET = "parquet"


ENDINGS = {
    ".csv": Format.CSV,
    ".csv.gz": Format.CSV,
    ".jsonl": Format.JSONL,
    ".jsonl.gz": Format.JSONL,
    ".ndjson": Format.JSONL,
    ".ndjson.gz": Format.JSONL,
    ".parquet": Format.PARQUET,
}


def format_of(path: Path) -> Format:
    """The format of a file.

    Raises:
        InputError: its name ends otherwise, or there is no such file.
    """
    found = next((form for ending, form in ENDINGS.items() if path.name.lower().endswith(ending)), None)
    if found is None or not path.is_file():
        raise InputError(
            str(path),
            found="no such file" if found else "a name of unknown ending",
            expected=f"a file that ends in one of {', '.join(ENDINGS)}",
            remedy="Check the path and the file's name.",
        )
    return found


def read_files(engine: Engine, name: str, paths: Sequence[Path], fields: Fields) -> bool:
    """Make one table of interaction files: see `QueryEngine.read`. Whether it is a view and its timestamps are typed.

    Raises:
        InputError: a file is malformed or lacks a required column.
    """
    scans = [_scan(engine, number, path, fields) for number, path in enumerate(paths)]
    typed = [scan.query for scan in scans if scan is not None and scan.typed]
    if len(typed) == len(paths):
        engine.define(name, " UNION ALL ".join(typed))
        return True
    _keep_files(engine, name, list(zip(paths, scans, strict=True)), fields)
    return False


def _keep_files(engine: Engine, name: str, scans: Sequence[tuple[Path, "_Scan | None"]], fields: Fields) -> None:
    texts = [field for field in fields.names if field != TIMESTAMP]
    columns = ", ".join(f"{field} VARCHAR" for field in (*texts, TIMESTAMP))
    engine.drop(name)
    engine.run(
        f"CREATE TABLE {name} "
        f"({FILE} INTEGER, {ROW} BIGINT, {columns}, {TIMESTAMP_WHOLE} BIGINT, {TIMESTAMP_NS} BIGINT)"
    )
    for number, (path, scan) in enumerate(scans):
        if scan is not None:
            with _well_formed(path):
                engine.run(f"INSERT INTO {name} {scan.query}")
            continue
        load(engine, "raw", path, fields)
        stored = engine.columns("SELECT * FROM raw")[TIMESTAMP] == "BIGINT"
        text, moment = ("NULL", TIMESTAMP) if stored else (TIMESTAMP, "NULL")
        engine.run(f"INSERT INTO {name} SELECT ?, {ROW}, {', '.join(texts)}, {text}, NULL, {moment} FROM raw", [number])
        engine.run("DROP TABLE raw")


class _Scan(NamedTuple):
    """A query of the engine's own reader: file, row, the fields as text, timestamp_whole, timestamp_ns."""

    query: str
    typed: bool


def _scan(engine: Engine, number: int, path: Path, fields: Fields) -> _Scan | None:
    """How the engine itself reads a file; None where its reader and Arrow's might not read the same."""
    if format_of(path) is not Format.PARQUET:
        return None
    with _well_formed(path), pyarrow.parquet.ParquetFile(path) as file:
        schema = file.schema_arrow
        check_columns(path, schema.names, fields)
        if FILE_ROW in map(str.lower, schema.names):
            return None
        engine.register("described", schema.empty_table())
        types = engine.columns("SELECT * FROM described")
        engine.unregister("described")
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
    return _Scan(query, typed)


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
    """Make a raw table: `row` (BIGINT, from 1) and one VARCHAR column a field, NULL where the file lacks it.

    Timestamps that a Parquet file stores as such are BIGINT nanoseconds instead. Lists are JSON text.

    Raises:
        InputError: the file is malformed or a required column is missing; file and row are named.
    """
    readers = {Format.CSV: _load_csv, Format.JSONL: _load_jsonl, Format.PARQUET: _load_parquet}
    reader = readers[format_of(path)]
    with _well_formed(path):
        reader(engine, table, path, fields)


@contextmanager
def _well_formed(path: Path) -> Iterator[None]:
    import duckdb

    try:
        yield
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        raise _malformed(path, str(error)) from error


def _malformed(path: Path, message: str) -> InputError:
    row = re.search(r"Row #(\d+): (.*)", message, re.DOTALL)
    header = format_of(path) is Format.CSV
    where = place(path, int(row[1]) - header) if row else str(path)
    if "straddl" in message:
        message = f"a row longer than {BLOCK_BYTES >> 20} MiB, or a quote that never closes"
    found = (row[2] if row else message).strip().split("\n")[0]
    return InputError(
        where,
        found=found[:300],
        expected=f"a well-formed {format_of(path)} file in UTF-8",
        remedy="Correct the file and run again; nothing was published.",
    )


def check_columns(path: Path | str, present: Sequence[str], fields: Fields) -> None:
    """Required columns are there, and no wanted one twice.

    Raises:
        InputError: they are not.
    """
    for field, column in fields.names.items():
        if field in fields.required and column not in present:
            raise InputError(
                f"{path}, column {column}",
                found=f"columns {', '.join(present)[:300]}",
                expected=f"a column {column}",
                remedy="Rename the column, or state its name under `columns` in build.toml.",
            )
        if present.count(column) > 1:
            raise InputError(
                f"{path}, column {column}",
                found=f"{present.count(column)} columns of that name",
                expected="one",
                remedy="Remove or rename the others.",
            )


def _source(path: Path) -> pa.NativeFile:
    return pa.input_stream(str(path), compression="gzip" if path.name.lower().endswith(".gz") else None)


def _header(path: Path, read: pyarrow.csv.ReadOptions, parse: pyarrow.csv.ParseOptions) -> list[str]:
    names: list[str] = pyarrow.csv.open_csv(_source(path), read, parse).schema.names
    return names


def _load_csv(engine: Engine, table: str, path: Path, fields: Fields) -> None:
    read = pyarrow.csv.ReadOptions(block_size=BLOCK_BYTES, use_threads=False)
    parse = pyarrow.csv.ParseOptions(newlines_in_values=True)
    header = _header(path, read, parse)
    check_columns(path, header, fields)
    wanted = [name for name in fields.names.values() if name in header]
    convert = pyarrow.csv.ConvertOptions(
        include_columns=wanted, column_types=dict.fromkeys(wanted, pa.string()), strings_can_be_null=False
    )
    columns = [f"{_column(name, header)} AS {field}" for field, name in fields.names.items()]
    _number_rows(engine, table, pyarrow.csv.open_csv(_source(path), read, parse, convert), columns)


def _column(name: str, present: Sequence[str]) -> str:
    return quoted(name) if name in present else "NULL::VARCHAR"


def _number_rows(engine: Engine, table: str, reader: pa.RecordBatchReader, columns: Sequence[str]) -> None:
    """An Arrow reader is one ordered stream, so numbering it follows the file."""
    engine.register("incoming", reader)
    try:
        engine.run(
            f"CREATE OR REPLACE TABLE {table} AS "
            f"SELECT row_number() OVER () AS {ROW}, {', '.join(columns)} FROM incoming"
        )
    finally:
        engine.unregister("incoming")


def _lines(path: Path) -> pa.RecordBatchReader:
    if path.stat().st_size == 0:
        return pa.table({"line": pa.array([], pa.string())}).to_reader()
    return pyarrow.csv.open_csv(
        _source(path),
        pyarrow.csv.ReadOptions(block_size=BLOCK_BYTES, use_threads=False, column_names=["line"]),
        pyarrow.csv.ParseOptions(
            delimiter=UNIT_SEPARATOR, quote_char=False, double_quote=False, ignore_empty_lines=False
        ),
        pyarrow.csv.ConvertOptions(column_types={"line": pa.string()}, strings_can_be_null=False),
    )


def _load_jsonl(engine: Engine, table: str, path: Path, fields: Fields) -> None:
    _number_rows(engine, "lines", _lines(path), ["line"])
    engine.run("DELETE FROM lines WHERE trim(line) = ''")
    _check_objects(engine, path)
    shape = json.dumps(dict.fromkeys(fields.names.values(), "JSON"), ensure_ascii=False)
    engine.run(
        f"CREATE OR REPLACE TABLE members AS SELECT {ROW}, json_transform(line, {literal(shape)}) AS m FROM lines"
    )
    engine.run("DROP TABLE lines")
    for field in IDS:
        if field in fields.names:
            _check_json_ids(engine, path, fields.names[field])
    columns = [f"m[{literal(name)}] ->> '$' AS {field}" for field, name in fields.names.items()]
    engine.run(f"CREATE OR REPLACE TABLE {table} AS SELECT {ROW}, {', '.join(columns)} FROM members ORDER BY {ROW}")
    engine.run("DROP TABLE members")


def _check_objects(engine: Engine, path: Path) -> None:
    """DuckDB may evaluate a cast before a guard, so bad lines are looked for before anything is taken apart."""
    bad = engine.run(
        f"SELECT {ROW}, line FROM lines WHERE try_cast(line AS JSON) IS NULL "
        f"OR json_type(try_cast(line AS JSON)) <> 'OBJECT' ORDER BY {ROW} LIMIT 1"
    )
    if bad:
        raise InputError(
            place(path, bad[0][0]),
            found=repr(bad[0][1][:120]),
            expected="one JSON object a line",
            remedy="Correct or remove the line.",
        )


def _check_json_ids(engine: Engine, path: Path, name: str) -> None:
    member = f"m[{literal(name)}]"
    bad = engine.run(
        f"SELECT {ROW}, {member}::VARCHAR FROM members WHERE {member} IS NOT NULL AND json_type({member}) <> 'VARCHAR' "
        f"AND NOT regexp_full_match({member} ->> '$', '-?[0-9]+') ORDER BY {ROW} LIMIT 1"
    )
    if bad:
        raise InputError(
            f"{place(path, bad[0][0])}, field {name}",
            found=str(bad[0][1])[:120],
            expected="a string or a whole number",
            remedy="Write ids as strings; only so are they kept to the byte.",
        )


def _load_parquet(engine: Engine, table: str, path: Path, fields: Fields) -> None:
    with pyarrow.parquet.ParquetFile(path) as file:
        check_columns(path, file.schema_arrow.names, fields)
        wanted = [name for name in fields.names.values() if name in file.schema_arrow.names]
        schema = pa.schema([file.schema_arrow.field(name) for name in wanted])
        engine.register("described", schema.empty_table())
        types = engine.columns("SELECT * FROM described")
        columns = [f"{_parquet_text(path, field, name, types)} AS {field}" for field, name in fields.names.items()]
        batches = (batch.select(wanted) for batch in file.iter_batches(columns=wanted))
        _number_rows(engine, table, pa.RecordBatchReader.from_batches(schema, batches), columns)


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
