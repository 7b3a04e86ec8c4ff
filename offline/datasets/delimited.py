"""Files with one record a row and a delimiter between fields, staged as a table of text columns."""

import csv
import gzip
import io
from collections.abc import Collection, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

from models.errors import InputError
from offline.datasets.lines import readable, reading, records
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
    refused = _scan(work, path, table, header, needed, options)
    return Staged(table, path.name, partial(_locate_rows, work, table, refused))


def plain_rows(
    work: Workspace, key: str, table: str, columns: Sequence[str], *, delimiter: str, header_lines: int = 0
) -> Staged:
    """Stage a file whose fields are never quoted, all of its `columns`; UTF-8."""
    options = f"delim = {quoted(delimiter)}, quote = '', escape = '', header = false, skip = {header_lines}"
    path = work.raw.path(key)
    refused = _scan(work, path, table, columns, columns, options)
    return Staged(table, path.name, partial(_locate_lines, path, header_lines, frozenset(refused)))


def _scan(
    work: Workspace,
    path: Path,
    table: str,
    header: Sequence[str],
    needed: Sequence[str],
    options: str,
) -> list[int]:
    """Stage the columns `needed` of `header`; the lines that had to be left out."""
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
    return _refused(work, path, table)


def _refused(work: Workspace, path: Path, table: str) -> list[int]:
    rows = work.con.execute(f"select line, min(csv_line) from {table}_rejects group by line order by line").fetchall()
    work.con.execute(f"drop table {table}_rejects; drop table {table}_scan")
    examples = [Line(int(line), str(text or "")) for line, text in rows[:EXAMPLES]]
    work.rejects.add(path.name, Reason.UNPARSABLE, len(rows), examples)
    return [int(line) for line, _ in rows]


def _locate_lines(path: Path, header_lines: int, refused: Collection[int], ordinals: Collection[int]) -> list[Line]:
    """Lines of accepted rows, where a row is a line: blank and refused ones hold none."""
    held = ((number, line) for _, number, line in records(path) if number not in refused)
    rows = enumerate(islice(held, header_lines, None), start=1)
    wanted = set(ordinals)
    return [Line(number, readable(line)) for ordinal, (number, line) in rows if ordinal in wanted]


def _locate_rows(work: Workspace, table: str, refused: Sequence[int], ordinals: Collection[int]) -> list[Line]:
    """Records of accepted rows, where a record can span lines; the header is record 1."""
    wanted = ", ".join(str(ordinal) for ordinal in ordinals)
    rows = work.con.execute(f"select * from {table} where row in ({wanted}) order by row").fetchall()
    return [Line(_record(row, refused), " | ".join(str(field) for field in rest)) for row, *rest in rows]


def _record(ordinal: int, refused: Sequence[int]) -> int:
    """Record of the `ordinal`-th accepted row behind a header, when the records `refused` (ascending) were left out.

    >>> [_record(ordinal, [3, 4]) for ordinal in (1, 2, 3)]
    [2, 5, 6]
    """
    record = ordinal + 1
    for left_out in refused:
        record += left_out <= record
    return record


def _header(path: Path) -> list[str]:
    opener = gzip.open if is_gzip(path) else open
    with reading(path), opener(path, "rb") as file:
        text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline="")
        return next(csv.reader(text), [])
