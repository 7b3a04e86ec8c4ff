"""What an ingest writes, and how it appears: whole or not at all."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from models.errors import ConfigError
from offline.datasets.report import Coverage, IngestReport
from offline.datasets.spec import Dataset
from offline.datasets.staging import quoted

INTERACTIONS = "interactions.parquet"
ITEMS = "items.parquet"
BUILD = "build.toml"
REPORT = "ingest.json"

OPTIONAL_FIELDS = (
    "title",
    "brand",
    "price",
    "categories",
    "description",
    "rating_avg",
    "rating_count",
    "also_bought",
    "also_viewed",
    "bought_together",
)


@contextmanager
def replaced_folder(out: Path) -> Iterator[Path]:
    """A fresh folder beside `out` that takes its place when the block ends well, and vanishes otherwise.

    Raises:
        ConfigError: `out` is not empty and holds no earlier ingest.
    """
    if out.exists() and not (out / REPORT).is_file() and (not out.is_dir() or any(out.iterdir())):
        raise ConfigError(
            str(out),
            found="something that is not an ingest",
            expected="no such folder, an empty one, or an earlier ingest",
            remedy="Choose another folder with --out.",
        )
    out.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        fresh = staging / "new"
        fresh.mkdir()
        yield fresh
        _swap(fresh, out, staging / "old")
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _swap(fresh: Path, out: Path, old: Path) -> None:
    """Put `fresh` in the place of `out`; what was there goes to `old`, and back if that fails."""
    if out.exists():
        out.rename(old)
    try:
        fresh.rename(out)
    except OSError:
        if old.exists():
            old.rename(out)
        raise


def write_tables(con: duckdb.DuckDBPyConnection, dataset: Dataset, folder: Path) -> list[Coverage]:
    """Write interactions (by user, then in sequence) and items (by id). How many items have each field.

    Items that the publisher does not describe are written with their id alone.
    """
    rating = ", rating" if dataset.ratings else ""
    con.execute(
        f"copy (select user_id, item_id, timestamp{rating}, {quoted(dataset.event)} as event from interactions "
        f"order by user_id, timestamp, row) to {quoted(folder / INTERACTIONS)} (format parquet, compression zstd)"
    )
    con.execute(
        "create or replace table described as select * from catalogue left join items using (item_id) order by item_id"
    )
    con.execute(f"copy described to {quoted(folder / ITEMS)} (format parquet, compression zstd)")
    return [_coverage(con, field) for field in OPTIONAL_FIELDS if field in _columns(con, "described")]


def build_toml(dataset: Dataset) -> str:
    """A build configuration that suits the data set."""
    lines = [
        f"# {dataset.title}, suggested by `shortlist ingest {dataset.name}`.",
        "# Evaluation wants the split; take the line out for a bundle that serves.",
        'split = "leave-last-out"',
    ]
    if dataset.ratings:
        lines += ["", "[ratings]", f"low = {dataset.ratings.low}", f"high = {dataset.ratings.high}"]
    lines += ["", "[text]", f"template = {json.dumps(dataset.text, ensure_ascii=False)}", ""]
    return "\n".join(lines)


def write_texts(dataset: Dataset, report: IngestReport, folder: Path) -> None:
    """Write build.toml and the report."""
    (folder / BUILD).write_text(build_toml(dataset), encoding="utf-8")
    (folder / REPORT).write_text(report.model_dump_json(indent=2) + "\n", encoding="utf-8")


def _columns(con: duckdb.DuckDBPyConnection, table: str) -> set[str]:
    return {name for name, *_ in con.execute(f"describe {table}").fetchall()}


def _coverage(con: duckdb.DuckDBPyConnection, field: str) -> Coverage:
    return Coverage(field=field, items=con.execute(f"select count({field}) from described").fetchall()[0][0])
