"""Blocks of items on Spark: one task a block, so that Spark's own retries redo a failed block alone."""

import io
import secrets
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from offline.config import EngineRules
from offline.spark.engine import SparkEngine
from offline.spark.session import open_session

if TYPE_CHECKING:
    from offline.shards import Result, Shards

SCHEMA = "block bigint, arrays array<binary>"
Places = tuple[tuple[str, str], ...]


def on_spark(shards: "Shards", rules: EngineRules) -> "Iterator[Result]":
    """Results of all blocks in the order of their numbers; what the tasks wrote is fetched a block at a time."""
    session = open_session(rules)
    engine = SparkEngine(rules)
    try:
        places = tuple((name, _shared(session, path)) for name, path in shards.paths.items())
        work = partial(_tasks, function=shards.function, places=places)
        frame = session.range(0, shards.blocks, 1, shards.blocks).mapInArrow(work, SCHEMA)
        uri = f"{engine.work}/blocks"
        engine.write(frame, uri)
        for part in sorted(name for name in engine.files.below(uri) if name.endswith(".parquet")):
            yield from engine.fetched_parts(f"{uri}/{part}", _read)
    finally:
        engine.close()


def _shared(session: Any, path: Path) -> str:
    """Where a task finds an array: in place on one machine, else a copy that each node gets once."""
    context = session.sparkContext
    if context.master.startswith("local"):
        return str(path.resolve())
    copy = path.with_name(f"{secrets.token_hex(8)}-{path.name}")
    copy.hardlink_to(path)
    context.addFile(str(copy))
    return copy.name


def _tasks(
    batches: Iterable[pa.RecordBatch], *, function: "Callable[..., Result]", places: Places
) -> Iterator[pa.RecordBatch]:
    """Runs in Spark's Python workers."""
    from pyspark import SparkFiles

    from offline.shards import compute

    paths = tuple((name, Path(where if where.startswith("/") else SparkFiles.get(where))) for name, where in places)
    for batch in batches:
        for block in batch.column(0).to_pylist():
            packed = [_packed(array) for array in compute(function, paths, block)]
            columns = [pa.array([block], pa.int64()), pa.array([packed], pa.list_(pa.binary()))]
            yield pa.RecordBatch.from_arrays(columns, ["block", "arrays"])


def _packed(array: Any) -> bytes:
    memory = io.BytesIO()
    np.save(memory, array, allow_pickle=False)
    return memory.getvalue()


def _read(path: Path) -> "Iterator[Result]":
    for packed in pq.read_table(path)["arrays"].to_pylist():
        yield tuple(np.load(io.BytesIO(one), allow_pickle=False) for one in packed)
