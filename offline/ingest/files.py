"""Reading files into the engine: CSV, JSONL (both also gzipped) and Parquet become one kind of raw table.

CSV and the lines of JSONL go through Arrow's reader, which keeps every byte of a field (DuckDB's own drops blanks
before a quote and guesses types), knows the number of a bad row and streams in blocks. Parquet goes through the
engine's own, on all of its threads, wherever that sees the types that Arrow's does. All fields arrive as text, times
that a Parquet file stores as numbers or moments excepted.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from models.errors import InputError
from offline.ingest import parquet
from offline.ingest.columns import FILE, ROW, TIMESTAMP, TIMESTAMP_NS, TIMESTAMP_WHOLE
from offline.ingest.engine import Engine, Fields, literal, quoted
from offline.ingest.formats import BLOCK_BYTES, IDS, Format, check_columns, format_of, number_rows, well_formed
from offline.ingest.places import place

UNIT_SEPARATOR = "\x1f"
"""Cannot occur inside JSON text, so splitting lines at it never splits one."""


def read_files(engine: Engine, name: str, paths: Sequence[Path], fields: Fields) -> bool:
    """Make one table of interaction files: see `QueryEngine.read`. Whether it is a view and its timestamps are typed.

    Raises:
        InputError: a file is malformed or lacks a required column.
    """
    scans = [
        parquet.scan(engine, number, path, fields) if format_of(path) is Format.PARQUET else None
        for number, path in enumerate(paths)
    ]
    typed = [scan.query for scan in scans if scan is not None and scan.typed]
    if len(typed) == len(paths):
        engine.define(name, " UNION ALL ".join(typed))
        return True
    _keep_files(engine, name, list(zip(paths, scans, strict=True)), fields)
    return False


def _keep_files(engine: Engine, name: str, scans: Sequence[tuple[Path, parquet.Scan | None]], fields: Fields) -> None:
    texts = [field for field in fields.names if field != TIMESTAMP]
    columns = ", ".join(f"{field} VARCHAR" for field in (*texts, TIMESTAMP))
    engine.drop(name)
    engine.run(
        f"CREATE TABLE {name} "
        f"({FILE} INTEGER, {ROW} BIGINT, {columns}, {TIMESTAMP_WHOLE} BIGINT, {TIMESTAMP_NS} BIGINT)"
    )
    for number, (path, scan) in enumerate(scans):
        if scan is not None:
            with well_formed(path):
                engine.run(f"INSERT INTO {name} {scan.query}")
            continue
        load(engine, "raw", path, fields)
        stored = engine.columns("SELECT * FROM raw")[TIMESTAMP] == "BIGINT"
        text, moment = ("NULL", TIMESTAMP) if stored else (TIMESTAMP, "NULL")
        engine.run(f"INSERT INTO {name} SELECT ?, {ROW}, {', '.join(texts)}, {text}, NULL, {moment} FROM raw", [number])
        engine.run("DROP TABLE raw")


def load(engine: Engine, table: str, path: Path, fields: Fields) -> None:
    """Make a raw table: `row` (BIGINT, from 1) and one VARCHAR column a field, NULL where the file lacks it.

    Timestamps that a Parquet file stores as such are BIGINT nanoseconds instead. Lists are JSON text.

    Raises:
        InputError: the file is malformed or a required column is missing; file and row are named.
    """
    readers = {Format.CSV: _load_csv, Format.JSONL: _load_jsonl, Format.PARQUET: parquet.load}
    reader = readers[format_of(path)]
    with well_formed(path):
        reader(engine, table, path, fields)


def has_rows(path: Path) -> bool:
    """Whether a file holds anything below its header.

    Raises:
        InputError: it is malformed at its beginning.
    """
    with well_formed(path):
        if format_of(path) is Format.PARQUET:
            return int(pyarrow.parquet.read_metadata(path).num_rows) > 0
        if format_of(path) is Format.CSV:
            return any(batch.num_rows for batch in pyarrow.csv.open_csv(_source(path)))
        return any(line.strip() for batch in _lines(path) for line in batch["line"].to_pylist())


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
    number_rows(engine, table, pyarrow.csv.open_csv(_source(path), read, parse, convert), columns)


def _column(name: str, present: Sequence[str]) -> str:
    return quoted(name) if name in present else "NULL::VARCHAR"


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
    number_rows(engine, "lines", _lines(path), ["line"])
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
