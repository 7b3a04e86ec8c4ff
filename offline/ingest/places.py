"""Saying where in a file something is."""

import csv
import gzip
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO


def place(path: Path | str, row: int) -> str:
    """A row of a file, for errors: the data row from 1 and, for CSV, the line that an editor shows.

    Args:
        path: CSV, JSONL or Parquet file, perhaps gzipped.
        row: data row of CSV and Parquet, line of JSONL, from 1.
    """
    if ".csv" not in Path(path).name.lower():
        return f"{path}, row {row}"
    line = _line_of(Path(path), row)
    return f"{path}, row {row}" + ("" if line is None else f" (line {line})")


def _open(path: Path) -> IO[str]:
    opener = gzip.open if path.name.lower().endswith(".gz") else open
    return opener(path, "rt", encoding="utf-8", errors="replace", newline="")


def _line_of(path: Path, row: int) -> int | None:
    """Where a data row starts; None where the file cannot be followed that far."""
    try:
        with _open(path) as file:
            return next(islice(_starts(file), row, None), None)
    except (OSError, EOFError, csv.Error):
        return None


def _starts(file: IO[str]) -> Iterator[int]:
    """The line on which each record starts, the header first; blank lines are no records."""
    reader = csv.reader(file)
    end = 0
    for record in reader:
        if record:
            yield end + 1
        end = reader.line_num
