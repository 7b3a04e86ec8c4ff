"""Writes small raw files exactly as publishers print theirs, and reads what an ingest made of them."""

import gzip
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from offline.datasets.ingest import ingest
from offline.datasets.output import INTERACTIONS, ITEMS
from offline.datasets.registry import find
from offline.datasets.report import IngestReport


def write(path: Path, content: bytes) -> None:
    """The bytes, gzipped if the name says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content, compresslevel=1) if path.name.endswith(".gz") else content)


def write_json(path: Path, rows: Iterable[Any]) -> None:
    """JSON lines; a row that is text already is written as it is."""
    write(path, "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows).encode())


def write_literals(path: Path, rows: Iterable[Any]) -> None:
    """Python literals, a line each; a row that is text already is written as it is."""
    write(path, "".join((row if isinstance(row, str) else repr(row)) + "\n" for row in rows).encode())


class Ingested:
    """Result of one ingest, by user and item."""

    def __init__(self, name: str, raw: Path, out: Path) -> None:
        self.out = out
        self.report: IngestReport = ingest(find(name), raw=raw, out=out)
        self.rows: list[dict[str, Any]] = pq.read_table(out / INTERACTIONS).to_pylist()
        self.items: dict[str, dict[str, Any]] = {row["item_id"]: row for row in pq.read_table(out / ITEMS).to_pylist()}

    @property
    def sequences(self) -> dict[str, list[str]]:
        """User -> items in the order of the file."""
        found = defaultdict(list)
        for row in self.rows:
            found[row["user_id"]].append(row["item_id"])
        return dict(found)

    def rejected(self, file: str) -> dict[str, tuple[int, list[int | None]]]:
        """Reason -> how many rows of a raw file, and the lines of the examples."""
        return {
            rows.reason: (rows.count, [line.line for line in rows.examples])
            for rows in self.report.rejected
            if rows.file == file
        }

    def step(self, beginning: str) -> int:
        """Interactions that the step whose description begins so left over."""
        return next(step.interactions for step in self.report.steps if step.step.startswith(beginning))


def grid(users: Sequence[str], items: Sequence[str]) -> list[tuple[str, str, int]]:
    """(user, item, day) of everyone with everything, a day apart: a core of any size up to the smaller side."""
    return [(user, item, day) for user in users for day, item in enumerate(items)]
