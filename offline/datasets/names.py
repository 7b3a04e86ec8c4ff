"""Small files of names (tags, artists, films) whose encoding is UTF-8 in one line and Latin-1 in the next."""

from collections.abc import Sequence
from functools import partial
from itertools import islice

import pyarrow as pa

from offline.datasets.lines import Record, locate, records
from offline.datasets.rejects import Line, Reason
from offline.datasets.staging import Staged
from offline.datasets.workspace import Workspace

BATCH = 20_000
"""Rows that are parsed before they are handed to DuckDB."""


def latin_rows(
    work: Workspace, key: str, table: str, columns: Sequence[str], *, delimiter: str, header_lines: int = 0
) -> Staged:
    """Stage a small file of names whose lines are UTF-8 or Latin-1, each on its own; never quoted.

    A line may hold more fields than `columns`, not fewer. Lines that had to be read as Latin-1 are counted.
    """
    path = work.raw.path(key)
    work.con.execute(
        f"create or replace table {table} (row bigint, {', '.join(f'{name} varchar' for name in columns)})"
    )
    lines = islice(records(path), header_lines, None)
    while batch := list(islice(lines, BATCH)):
        work.con.register("parsed_batch", _parse_batch(work, path.name, batch, columns, delimiter))
        work.con.execute(f"insert into {table} select * from parsed_batch")
        work.con.unregister("parsed_batch")
    return Staged(table, path.name, partial(locate, path))


def _parse_batch(
    work: Workspace, file: str, batch: Sequence[Record], columns: Sequence[str], delimiter: str
) -> pa.Table:
    rows: list[tuple[int, list[str]]] = []
    for ordinal, number, line in batch:
        text, is_utf8 = _decode(line)
        fields = text.split(delimiter)
        if len(fields) < len(columns):
            work.rejects.add(file, Reason.UNPARSABLE, 1, [Line(number, text)])
            continue
        if not is_utf8:
            work.rejects.add(file, Reason.ENCODING, 1, [Line(number, text)])
        rows.append((ordinal, fields))
    table = {"row": pa.array([ordinal for ordinal, _ in rows], pa.int64())}
    for place, column in enumerate(columns):
        table[column] = pa.array([fields[place] for _, fields in rows], pa.string())
    return pa.table(table)


def _decode(line: bytes) -> tuple[str, bool]:
    try:
        return line.decode("utf-8"), True
    except UnicodeDecodeError:
        return line.decode("latin-1"), False
