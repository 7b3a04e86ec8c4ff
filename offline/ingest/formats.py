"""What the readers of all formats share: which format a file has, its columns, its rows' numbers, what is malformed."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path

import pyarrow as pa

from models.errors import InputError
from offline.ingest.columns import ROW
from offline.ingest.engine import Engine, Fields
from offline.ingest.places import place

BLOCK_BYTES = 16 << 20
"""Read at once; no row may be longer."""
IDS = ("user_id", "item_id")


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


@contextmanager
def well_formed(path: Path) -> Iterator[None]:
    """What a reader finds wrong with a file becomes an error that names file and row.

    Raises:
        InputError: from whatever the readers raise.
    """
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


def number_rows(engine: Engine, table: str, reader: pa.RecordBatchReader, columns: Sequence[str]) -> None:
    """Make a table of columns and `row`, from 1: an Arrow reader is one ordered stream, so it follows the file."""
    engine.register("incoming", reader)
    try:
        engine.run(
            f"CREATE OR REPLACE TABLE {table} AS "
            f"SELECT row_number() OVER () AS {ROW}, {', '.join(columns)} FROM incoming"
        )
    finally:
        engine.unregister("incoming")
