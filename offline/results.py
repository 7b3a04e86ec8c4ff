"""What an evaluation leaves behind: results as JSON, lists as Parquet, a table for people."""

from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from rich.table import Table

from models.bundle.reader import Bundle
from models.words import SOURCES
from offline.evaluate import Evaluation, Lists, Settings, TargetUsers
from offline.outputs import replaced_file

PREDICTION_SCHEMA = pa.schema(
    [
        ("user_id", pa.string()),
        ("retriever", pa.string()),
        ("rank", pa.int32()),
        ("item_id", pa.string()),
        ("score", pa.float32()),
        ("source", pa.string()),
    ]
)


def results(bundle: Bundle, test: TargetUsers, evaluation: Evaluation, settings: Settings) -> dict[str, Any]:
    """The content of results.json: users, and fractions by retriever and measure; then how they were asked."""
    return {
        "users": len(test),
        "retrievers": evaluation.measures,
        "settings": {
            "bundle": bundle.version,
            "split": bundle.manifest.split.model_dump(mode="json"),
            "part": settings.part.value,
            "order": settings.order.value,
            "exclude_seen": settings.exclude_seen,
            "fill": settings.fill,
            "history_items": settings.history_items,
        },
    }


def write_results(path: Path, content: dict[str, Any]) -> None:
    """Write results.json.

    Raises:
        ConfigError: it cannot be written.
    """
    with replaced_file(path) as draft:
        draft.write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n")


def _predictions(bundle: Bundle, user_ids: list[str], name: str, lists: Lists) -> pa.Table:
    rows, places = np.nonzero(lists.items >= 0)
    listed = lists.items[rows, places]
    columns = [
        pa.array(user_ids, pa.string()).take(rows),
        pa.array([name] * len(rows), pa.string()),
        pa.array((places + 1).astype(np.int32)),
        pa.array(bundle.ids.strings(listed), pa.string()),
        pa.array(lists.scores[rows, places]),
        pa.array([source.value for source in SOURCES], pa.string()).take(lists.sources[rows, places]),
    ]
    return pa.Table.from_arrays(columns, schema=PREDICTION_SCHEMA)


def write_predictions(path: Path, bundle: Bundle, test: TargetUsers, evaluation: Evaluation) -> None:
    """Write each retriever's longest lists: user_id, retriever, rank (from 1), item_id, score, source.

    Raises:
        ConfigError: the file cannot be written.
    """
    user_ids = test.user_ids()
    with replaced_file(path) as draft, pq.ParquetWriter(draft, PREDICTION_SCHEMA, compression="zstd") as writer:
        for name, lists in evaluation.longest.items():
            writer.write_table(_predictions(bundle, user_ids, name, lists))


def as_table(evaluation: Evaluation, users: int) -> Table:
    """Percentages for people."""
    measures = list(next(iter(evaluation.measures.values())))
    table = Table(title=f"{users:,} users, percent", title_justify="left")
    table.add_column("retriever")
    for measure in measures:
        table.add_column(measure, justify="right")
    for name, values in evaluation.measures.items():
        table.add_row(name, *(f"{100 * values[measure]:.2f}" for measure in measures))
    return table
