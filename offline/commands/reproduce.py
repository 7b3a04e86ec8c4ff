"""`shortlist reproduce`: a paper redone on data at hand, its figures beside ours."""

import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from offline.commands import options
from offline.outputs import check_folder
from offline.progress import Reporter
from offline.report.document.evaluation import EvaluationReport
from offline.report.document.parts import Number
from offline.report.document.reproduction import ReproductionReport
from offline.report.files import write_reproduction
from offline.reproduce.bundles import Wish
from offline.reproduce.folder import read_folder
from offline.reproduce.protocol import PROTOCOLS
from offline.reproduce.published import TITLES, Paper
from offline.reproduce.run import reproduce

app = typer.Typer(add_completion=False)

PaperArgument = Annotated[Paper, typer.Argument(metavar="PAPER", help="heuristic or value-prior.")]
Data = Annotated[
    list[Path],
    typer.Option("--data", help="Folder with interactions and items, as `shortlist ingest` writes; repeatable."),
]
Out = Annotated[Path, typer.Option("--out", help="Folder for report.html, report.json and report.csv.")]
SomeBundles = Annotated[
    Path | None,
    typer.Option("--bundles", help="Folder of bundles to use where they fit, and to build in. [default: OUT/bundles]"),
]
Without = Annotated[str, typer.Option("--without", help="Retrievers to leave out, between commas: gr takes longest.")]
Predictions = Annotated[
    list[Path] | None,
    typer.Option("--predictions-from", help="Lists of other systems for the same users; repeatable."),
]
Epochs = Annotated[
    int | None, typer.Option("--epochs", min=1, help="Where training is needed: stop after so many epochs.")
]


@app.command("reproduce")
def reproduce_command(
    paper: PaperArgument,
    data: Data,
    out: Out,
    bundles: SomeBundles = None,
    text_encoder: options.TextEncoder = None,
    without: Without = "",
    predictions_from: Predictions = None,
    epochs: Epochs = None,
    threads: Annotated[int, typer.Option("--threads", min=1, help="Threads of training.")] = 2,
) -> None:
    """Redo a paper: build and train what is missing, ask as the paper asks, and put its figures beside ours."""
    reporter = Reporter()
    check_folder(out, "--out")
    folders = [read_folder(folder) for folder in data]
    wish = Wish(bundles or out / "bundles", text_encoder, epochs, threads)
    cut = options.retrievers(without, "--without") if without else []
    protocol = PROTOCOLS[paper]
    reports = [
        reproduce(one, protocol, wish, reporter, predictions=predictions_from or (), without=cut) for one in folders
    ]
    document = ReproductionReport(
        title=TITLES[paper],
        command=f"shortlist {shlex.join(sys.argv[1:])}",
        created=datetime.now(UTC),
        with_value=paper is Paper.VALUE_PRIOR,
        data_sets=tuple(reports),
    )
    for path in write_reproduction(document, out):
        reporter.say(str(path))
    for report in reports:
        _print(report, with_value=document.with_value)


def _print(report: EvaluationReport, *, with_value: bool) -> None:
    """Our table, then the comparison, in plain lines, tab-separated."""
    cuts = report.methods[0].cut_offs if report.methods else ()
    value = [f"vNDCG@{report.value.k}"] if report.value and with_value else []
    names = [f"{name}@{cut.k}" for name in ("Recall", "NDCG") for cut in cuts]
    typer.echo("\t".join([report.title, *names, *value]))
    for method in report.methods:
        found = [*[cut.recall for cut in method.cut_offs], *[cut.ndcg for cut in method.cut_offs]]
        found += [method.vndcg] if value and method.vndcg else []
        typer.echo("\t".join([method.name, *[_figure(one.value) for one in found]]))
    if report.published:
        typer.echo(f"{report.title}\tpublished\tours\tdifference")
    for row in report.published:
        name = ", ".join(part for part in (row.method, row.measure) if part)
        typer.echo(f"{name}\t{row.published:.4f}\t{_figure(row.ours.value)}\t{_figure(row.difference)}")


def _figure(value: Number) -> str:
    return "-" if value is None else f"{value:.4f}"
