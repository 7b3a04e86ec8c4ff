"""Writing the same rows in every format, and reading them back through the engine."""

import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from offline.config import BuildConfig, EngineRules, UnknownItems
from offline.ingest.engine import Engine
from offline.ingest.interactions import INTERACTIONS, read_interactions
from offline.ingest.report import TableReport

FORMATS = ("csv", "csv.gz", "parquet", "jsonl", "jsonl.gz")
Rows = Sequence[dict[str, Any]]


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine(EngineRules()) as opened:
        yield opened


def write(path: Path, rows: Rows, names: Sequence[str]) -> Path:
    """Rows of text or None in the format that the name's end tells."""
    table = pa.table({name: pa.array([row.get(name) for row in rows], pa.string()) for name in names})
    if path.name.endswith(".parquet"):
        pq.write_table(table, path)
        return path
    if ".csv" in path.name:
        sink = pa.BufferOutputStream()
        pa.csv.write_csv(table, sink)
        content = sink.getvalue().to_pybytes()
    else:
        lines = (json.dumps({k: v for k, v in row.items() if v is not None}, ensure_ascii=False) for row in rows)
        content = "".join(line + "\n" for line in lines).encode()
    path.write_bytes(gzip.compress(content) if path.name.endswith(".gz") else content)
    return path


Reader = Callable[..., tuple[list[tuple[Any, ...]], TableReport]]


@pytest.fixture
def read(engine: Engine) -> Reader:
    """Interactions of files as (user_id, item_id, timestamp in ns, event, rating), in input order, and the report."""

    def read_back(
        *paths: Path, config: BuildConfig | None = None, known: Sequence[str] | None = None
    ) -> tuple[list[tuple[Any, ...]], TableReport]:
        catalogue = None if known is None else pa.table({"item_id": pa.array(known, pa.string())})
        rules = config or BuildConfig()
        report = read_interactions(engine, paths, rules, catalogue)
        rows = engine.run(f"SELECT user_id, item_id, timestamp, event, rating FROM {INTERACTIONS} ORDER BY file, row")
        keep = known is None or rules.interactions.unknown_items is UnknownItems.KEEP
        return [row for row in rows if keep or row[1] in known], report

    return read_back
