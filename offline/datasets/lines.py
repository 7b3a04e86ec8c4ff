"""Lines of raw text files, counted the way DuckDB counts records: blank lines hold none."""

import gzip
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from models.errors import InputError
from offline.datasets.raw import is_gzip
from offline.datasets.rejects import Line

Record = tuple[int, int, bytes]
"""Ordinal among the lines that are not blank (from 1), line number (from 1), bytes without the line break."""


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what goes wrong while `path` is read into an InputError that names the file."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile, duckdb.IOException, duckdb.InvalidInputException) as error:
        raise InputError(
            str(path),
            found=f"a file that cannot be read to its end ({str(error).splitlines()[0]})",
            expected="the whole file as published",
            remedy="Delete it and download it again.",
        ) from error


def records(path: Path) -> Iterator[Record]:
    """Each line of the file that is not blank; gzip is recognised by its first bytes."""
    opener = gzip.open if is_gzip(path) else open
    ordinal = 0
    with reading(path), opener(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                ordinal += 1
                yield ordinal, number, line.rstrip(b"\r\n")


def chosen_records(path: Path, ordinals: Collection[int]) -> Iterator[Record]:
    """Those records whose ordinals were asked for; reads no further than the last of them."""
    wanted = set(ordinals)
    last = max(wanted, default=0)
    for ordinal, number, line in records(path):
        if ordinal in wanted:
            yield ordinal, number, line
        if ordinal >= last:
            return


def locate(path: Path, ordinals: Collection[int]) -> list[Line]:
    """Line numbers and beginnings of records."""
    return [Line(number, readable(line)) for _, number, line in chosen_records(path, ordinals)]


def readable(line: bytes) -> str:
    """Text of a line whose encoding may be broken."""
    return line.decode("utf-8", "replace")
