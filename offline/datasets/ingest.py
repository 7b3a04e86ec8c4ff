"""One data set from its raw files to our input files: read, filter, measure, write."""

import hashlib
import tempfile
import time
from pathlib import Path

import duckdb

from models.errors import InputError
from offline.datasets.figures import Figures, differences, measure
from offline.datasets.output import replaced_folder, write_tables, write_texts
from offline.datasets.raw import RawFolder
from offline.datasets.report import (
    FigureFacts,
    IngestReport,
    RawFileFacts,
    RejectedLine,
    RejectedRows,
    StepFacts,
)
from offline.datasets.spec import Dataset
from offline.datasets.workspace import Workspace, scratch_database


def ingest(dataset: Dataset, *, raw: Path, out: Path) -> IngestReport:
    """Read the raw files of a data set, apply the paper's filters and write `out`.

    `out` then holds interactions.parquet, items.parquet, a suggested build.toml and the report, ingest.json. It appears
    whole or not at all; an earlier ingest there is replaced.

    Args:
        dataset: from the registry.
        raw: folder with the raw files; only read.
        out: folder to write.

    Raises:
        InputError: a raw file is missing or broken, or nothing is left after the filters.
        ConfigError: `out` holds something else.
    """
    began = time.monotonic()
    with (
        replaced_folder(out) as folder,
        tempfile.TemporaryDirectory(dir=folder.parent) as scratch,
        scratch_database(Path(scratch)) as con,
    ):
        files = RawFolder(raw, Path(scratch), dataset.files, dataset.page)
        files.check()
        work = Workspace(con, files, dataset.ratings)
        dataset.read(work)
        steps = apply_steps(dataset, con)
        figures = _figures(dataset, con, raw)
        coverage = write_tables(con, dataset, folder)
        raw_files = [_raw_file(path) for path in sorted(set(files.used.values()))]
        report = IngestReport(
            dataset=dataset.name,
            title=dataset.title,
            page=dataset.page,
            terms=dataset.terms,
            raw_files=raw_files,
            rejected=_rejected(work),
            steps=steps,
            figures=figures,
            coverage=coverage,
            notes=list(dataset.notes),
            took_s=round(time.monotonic() - began, 3),
        )
        write_texts(dataset, report, folder)
    return report


def apply_steps(dataset: Dataset, con: duckdb.DuckDBPyConnection) -> list[StepFacts]:
    """Filter `interactions` and make `catalogue`; what each step left over."""
    facts = [_facts(con, "as read")]
    con.execute("drop table if exists catalogue")
    for step in dataset.steps:
        step.apply(con)
        facts.append(_facts(con, step.describe()))
    con.execute("create table if not exists catalogue as select distinct item_id from interactions")
    return facts


def _facts(con: duckdb.DuckDBPyConnection, name: str) -> StepFacts:
    counts = con.execute("select count(*), count(distinct user_id), count(distinct item_id) from interactions")
    interactions, users, items = counts.fetchall()[0]
    return StepFacts(step=name, interactions=interactions, users=users, items=items)


def _figures(dataset: Dataset, con: duckdb.DuckDBPyConnection, raw: Path) -> list[FigureFacts]:
    found = measure(con)
    if not found.users:
        raise InputError(
            str(raw),
            found="no sequence that the data set's filters leave over",
            expected="the raw files as published, whole",
            remedy="Check the files' sizes and download them again.",
        )
    return compare(found, dataset.expected)


def compare(found: Figures, published: Figures | None) -> list[FigureFacts]:
    """Each figure here beside the published one."""
    odd = {difference.figure for difference in differences(found, published)} if published else set()
    return [
        FigureFacts(
            figure=name,
            found=getattr(found, name),
            published=getattr(published, name, None),
            agrees=None if getattr(published, name, None) is None else name not in odd,
        )
        for name in ("users", "items", "edges", "mean_length")
    ]


def _raw_file(path: Path) -> RawFileFacts:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return RawFileFacts(name=path.name, size_bytes=path.stat().st_size, sha256=digest)


def _rejected(work: Workspace) -> list[RejectedRows]:
    return [
        RejectedRows(
            file=rejected.file,
            reason=rejected.reason.value,
            count=rejected.count,
            examples=[RejectedLine(line=line.number, text=line.text) for line in rejected.examples],
        )
        for rejected in work.rejects.all()
    ]
