"""Files with one document a line, JSON or Python literal, staged as a table (row, doc)."""

import ast
import json
import warnings
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any

import orjson
import pyarrow as pa

from offline.datasets.lines import Record, chosen_records, locate, readable, reading, records
from offline.datasets.rejects import Line, Reason
from offline.datasets.staging import Staged, compression, quoted
from offline.datasets.workspace import Workspace

Shape = Mapping[str, Any]
"""The fields to keep and their DuckDB types, as DuckDB's `json_transform` takes it: `{"asin": "VARCHAR"}`."""

BATCH = 5_000
"""Lines that are parsed before they are handed to DuckDB; bounds the memory of the Python parser."""


def json_documents(work: Workspace, key: str, table: str, shape: Shape) -> Staged:
    """Stage a file of JSON lines as `table` (row, doc); `doc` is a struct of `shape`.

    DuckDB parses. The lines that it refuses get a second chance in Python, which also takes lone surrogates and
    Python literals; what neither can read is counted as unparsable.
    """
    path = work.raw.path(key)
    with reading(path):
        work.con.execute(
            f"create or replace table {table} as "
            f"select row, case json_type(json) when 'OBJECT' then json_transform(json, {_structure(shape)}) end as doc "
            f"from (select row_number() over () as row, json from read_json_objects({quoted(path)}, "
            f"format = 'newline_delimited', ignore_errors = true, compression = {compression(path)}))"
        )
    refused = [row for (row,) in work.con.execute(f"select row from {table} where doc is null").fetchall()]
    if refused:
        work.con.execute(f"delete from {table} where doc is null")
        _parse_into(work, key, table, shape, chosen_records(path, refused))
    return Staged(table, path.name, partial(locate, path))


def literal_documents(work: Workspace, key: str, table: str, shape: Shape) -> Staged:
    """Stage a file of Python literals, one dict a line, as `table` (row, doc); `doc` is a struct of `shape`.

    Each line is read by `ast.literal_eval`, which evaluates nothing; lines that are JSON are taken as such.
    """
    path = work.raw.path(key)
    work.con.execute(f"create or replace table {table} (row bigint, doc {_struct_type(shape)})")
    _parse_into(work, key, table, shape, records(path))
    return Staged(table, path.name, partial(locate, path))


def parse_document(line: bytes) -> dict[str, Any] | None:
    """The dict that a line holds, as JSON or as a Python literal; None if it holds none.

    >>> parse_document(b"{'asin': 'B0', 'price': 5.99}")
    {'asin': 'B0', 'price': 5.99}
    >>> parse_document(b'{"asin": "B0", "ok": true}')
    {'asin': 'B0', 'ok': True}
    >>> parse_document(b"__import__('os').getcwd()") is None
    True
    """
    for parse in (json.loads, ast.literal_eval):
        try:
            document = parse(line.decode("utf-8"))
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        return document if isinstance(document, dict) else None
    return None


def _parse_into(work: Workspace, key: str, table: str, shape: Shape, lines: Iterator[Record]) -> None:
    file = work.raw.path(key).name
    while batch := list(islice(lines, BATCH)):
        rows, refused = _parse_batch(batch, shape)
        work.rejects.add(file, Reason.UNPARSABLE, len(refused), refused)
        work.con.register("parsed_batch", rows)
        work.con.execute(
            f"insert into {table} select row, json_transform(text::json, {_structure(shape)}) from parsed_batch"
        )
        work.con.unregister("parsed_batch")


def _parse_batch(batch: list[Record], shape: Shape) -> tuple[pa.Table, list[Line]]:
    rows: list[int] = []
    texts: list[str] = []
    refused: list[Line] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=DeprecationWarning)
        warnings.simplefilter("ignore", category=SyntaxWarning)
        for ordinal, number, line in batch:
            document = parse_document(line)
            text = None if document is None else _as_json(document, shape)
            if text is None:
                refused.append(Line(number, readable(line)))
            else:
                rows.append(ordinal)
                texts.append(text)
    return pa.table({"row": pa.array(rows, pa.int64()), "text": pa.array(texts, pa.string())}), refused


def _as_json(document: dict[str, Any], shape: Iterable[str]) -> str | None:
    kept = {name: document[name] for name in shape if name in document}
    try:
        return orjson.dumps(kept).decode()
    except TypeError:
        pass
    try:
        return json.dumps(kept, ensure_ascii=False).encode("utf-8", "replace").decode()
    except (TypeError, ValueError):
        return None


def _structure(shape: Shape) -> str:
    return quoted(json.dumps(shape))


def _struct_type(shape: Any) -> str:
    if isinstance(shape, str):
        return shape
    if isinstance(shape, list):
        return f"{_struct_type(shape[0])}[]"
    return "struct(" + ", ".join(f'"{name}" {_struct_type(kind)}' for name, kind in shape.items()) + ")"
