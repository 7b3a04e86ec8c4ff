"""`shortlist ingest`: published data sets from their original files."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from models.errors import ConfigError, MissingExtraError

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from offline.datasets.report import FigureFacts, IngestReport
    from offline.datasets.spec import Dataset


def ingest(
    name: Annotated[str | None, typer.Argument(help="Data set, e.g. beauty; --list shows all.")] = None,
    raw: Annotated[Path | None, typer.Option(help="Folder with the raw files; raw/NAME by default.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder to write; data/NAME by default.")] = None,
    *,
    download: Annotated[bool, typer.Option("--download", help="Fetch raw files that are not there.")] = False,
    show_list: Annotated[bool, typer.Option("--list", help="Show all data sets and leave.")] = False,
) -> None:
    """Turn raw files of a published data set into interactions, items and a build.toml, filtered as its paper does."""
    with _extra():
        if show_list:
            _list()
            return
        dataset = _find(name)
        source, target = raw or Path("raw") / dataset.name, out or Path("data") / dataset.name
        if download:
            _download(dataset, source)
        report = _run(dataset, source, target)
    for line in describe(report):
        typer.echo(line)
    typer.echo(f"written to {target}")


def describe(report: "IngestReport") -> list[str]:
    """The report for people: what was left out, what each filter kept, and how the figures compare."""
    lines = [f"{report.title} ({report.page})"]
    for rows in report.rejected:
        where = ", ".join(str(line.line) for line in rows.examples[:5] if line.line is not None)
        more = ", ..." if rows.count > 5 else ""
        lines.append(f"  {rows.file}: {rows.count:,} x {rows.reason}" + (f" (line {where}{more})" if where else ""))
    lines += [
        f"  {step.step}: {step.interactions:,} interactions, {step.users:,} users, {step.items:,} items"
        for step in report.steps
    ]
    lines += [_figure_line(figure) for figure in report.figures]
    lines += [f"  note: {note}" for note in report.notes]
    return lines


def _figure_line(figure: "FigureFacts") -> str:
    digits = 2 if figure.figure == "mean_length" else 0
    found = f"  {figure.figure.replace('_', ' ')} {figure.found:,.{digits}f}"
    if figure.published is None:
        return f"{found} (nothing published)"
    if figure.agrees:
        return f"{found} (as published)"
    difference = figure.found - figure.published
    share = difference / figure.published
    return f"{found} (published {figure.published:,.{digits}f}: {difference:+,.{digits}f}, {share:+.2%})"


@contextmanager
def _extra() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise MissingExtraError(
            "shortlist ingest",
            found=f"no package {error.name}",
            expected="the packages that read data sets",
            remedy="pip install 'shortlist[build]'",
        ) from error


def _find(name: str | None) -> "Dataset":
    if name is None:
        raise ConfigError(
            "shortlist ingest", found="no data set", expected="its name", remedy="`shortlist ingest --list` shows them."
        )
    from offline.datasets.registry import find

    return find(name)


def _list() -> None:
    from offline.datasets.registry import DATASETS

    for dataset in DATASETS:
        how = "--download" if dataset.downloadable else "by hand"
        size = dataset.expected
        figures = (
            f"{size.users:,} users, {size.items:,} items, {size.edges:,} edges" if size else "no published figures"
        )
        typer.echo(f"{dataset.name}: {dataset.title}; {figures}; {how}; {dataset.page}\n    {dataset.terms}")


def _run(dataset: "Dataset", raw: Path, out: Path) -> "IngestReport":
    from offline.datasets.ingest import ingest as run

    return run(dataset, raw=raw, out=out)


def _download(dataset: "Dataset", raw: Path) -> None:
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    from offline.datasets.download import download, missing_downloads
    from offline.datasets.raw import RawFolder

    typer.echo(f"{dataset.title}: {dataset.terms}")
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with tempfile.TemporaryDirectory() as scratch, Progress(*columns) as bars:
        for wanted in missing_downloads(RawFolder(raw, Path(scratch), dataset.files, dataset.page)):
            download(wanted, partial(_show, bars, bars.add_task(wanted.target.name, total=None)))


def _show(bars: "Progress", task: "TaskID", done: int, total: int | None) -> None:
    bars.update(task, completed=done, total=total)
