"""Files with one record a row and a delimiter between fields, staged as a table of text columns."""

import csv
import gzip
import io
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path

from models.errors import InputError
from offline.datasets.lines import reading
from offline.datasets.raw import is_gzip
from offline.datasets.rejects import EXAMPLES, Line, Reason
from offline.datasets.staging import Staged, compression, quoted
from offline.datasets.workspace import Workspace


def csv_rows(work: Workspace, key: str, table: str, needed: Sequence[str]) -> Staged:
    """Stage a CSV file with a header line and quoted fields, which may hold line breaks.

    Raises:
        InputError: the header lacks a column of `needed`.
    """
    path = work.raw.path(key)
    header = _header(path)
    absent = [column for column in needed if column not in header]
    if absent:
        raise InputError(
            f"{path}, line 1",
            found=f"the columns {', '.join(header)}",
            expected=f"also {', '.join(absent)}",
            remedy="Use the file as published, header included.",
        )
    options = "delim = ',', quote = '\"', escape = '\"', header = true"
    return _scan(work, path, table, header, needed, options, header_lines=1)


def plain_rows(
    work: Workspace, key: str, table: str, columns: Sequence[str], *, delimiter: str, header_lines: int = 0
) -> Staged:
    """Stage a file whose fields are never quoted, all of its `columns`; UTF-8."""
    options = f"delim = {quoted(delimiter)}, quote = '', escape = '', header = false, skip = {header_lines}"
    return _scan(work, work.raw.path(key), table, columns, columns, options, header_lines=header_lines)


def _scan(
    work: Workspace,
    path: Path,
    table: str,
    header: Sequence[str],
    needed: Sequence[str],
    options: str,
    *,
    header_lines: int,
) -> Staged:
    types = ", ".join(f"{quoted(column)}: 'VARCHAR'" for column in header)
    kept = ", ".join(f'"{column}"' for column in needed)
    with reading(path):
        work.con.execute(
            f"create or replace table {table} as select row_number() over () as row, {kept} "
            f"from read_csv({quoted(path)}, auto_detect = false, columns = {{{types}}}, {options}, "
            f"compression = {compression(path)}, "
            "store_rejects = true, rejects_limit = 0, parallel = false, null_padding = false, "
            f"rejects_table = '{table}_rejects', rejects_scan = '{table}_scan')"
        )
    refused = _refused(work, path, table)
    return Staged(table, path.name, partial(_locate, work, table, header_lines, refused))


def _refused(work: Workspace, path: Path, table: str) -> list[int]:
    rows = work.con.execute(f"select line, min(csv_line) from {table}_rejects group by line order by line").fetchall()
    work.con.execute(f"drop table {table}_rejects; drop table {table}_scan")
    examples = [Line(int(line), str(text or "")) for line, text in rows[:EXAMPLES]]
    work.rejects.add(path.name, Reason.UNPARSABLE, len(rows), examples)
    return [int(line) for line, _ in rows]


def _locate(
    work: Workspace, table: str, header_lines: int, refused: Sequence[int], ordinals: Collection[int]
) -> list[Line]:
    wanted = ", ".join(str(ordinal) for ordinal in ordinals)
    rows = work.con.execute(f"select * from {table} where row in ({wanted}) order by row").fetchall()
    return [Line(_line(row, header_lines, refused), " | ".join(str(field) for field in rest)) for row, *rest in rows]


def _line(ordinal: int, header_lines: int, refused: Sequence[int]) -> int:
    """Line of the `ordinal`-th accepted row, when the lines `refused` (ascending) were left out.

    >>> [_line(ordinal, 1, [3, 4]) for ordinal in (1, 2, 3)]
    [2, 5, 6]
    """
    line = ordinal + header_lines
    for left_out in refused:
        line += left_out <= line
    return line


def _header(path: Path) -> list[str]:
    opener = gzip.open if is_gzip(path) else open
    with reading(path), opener(path, "rb") as file:
        text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline="")
        return next(csv.reader(text), [])
