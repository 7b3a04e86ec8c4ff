"""`shortlist evaluate`: the tables of a bundle's retrievers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from models.bundle.reader import Bundle
from models.errors import ConfigError
from models.words import Order, RetrieverName
from offline.commands import options
from offline.evaluate import NOTHING_DEEPER, Settings, TargetUsers, evaluate, read_target_users
from offline.outputs import check_file, check_folder
from offline.predictions import Predictions as PredictionLists
from offline.predictions import add_predictions, check_predictions, read_predictions
from offline.progress import Reporter
from offline.report.files import write_report
from offline.report.judgments import read_judgments
from offline.report.run import NEAR_MISSES, report_on
from offline.results import as_table, results, write_predictions, write_results

app = typer.Typer(add_completion=False)

PIPE_COLUMNS = 400

Names = Annotated[str, typer.Option("--retrievers", help="Names between commas: tgh-1,tgh-2,...")]
Ks = Annotated[str, typer.Option("--k", help="Cut-offs between commas; those up to 10 cut one list of 10.")]
Out = Annotated[Path | None, typer.Option("--out", help="Write results.json (fractions).")]
ReportDir = Annotated[
    Path | None, typer.Option("--report", help="Folder for the full report: report.html, report.json, report.csv.")
]
Judgments = Annotated[
    Path | None,
    typer.Option("--judgments", help="Graded judgments for the report: user_id, item_id, grade from 0 to 1."),
]
DataName = Annotated[str | None, typer.Option("--name", help="Name in the report. [default: the bundles folder's]")]
Predictions = Annotated[Path | None, typer.Option("--predictions", help="Write the lists of the greatest k (Parquet).")]
OrderOption = Annotated[Order, typer.Option("--order", help="Order of TGH lists.")]
ExcludeSeen = Annotated[
    bool, typer.Option("--exclude-seen/--include-seen", help="Leave out, or allow, what the history holds.")
]
Fill = Annotated[bool, typer.Option("--fill/--no-fill", help="Fill short lists, as serving does, or leave them short.")]
HistoryItems = Annotated[
    int | None,
    typer.Option("--history-items", min=1, help="Show retrievers only a history's newest N items: 1 for last-1."),
]
PredictionsFrom = Annotated[
    list[Path] | None,
    typer.Option(
        "--predictions-from", help="Lists of other systems: Parquet or CSV as --predictions writes; repeatable."
    ),
]


@app.command("evaluate", cls=options.ManyValues)
def evaluate_command(
    bundle: options.BundleDir,
    interactions: options.Interactions,
    retrievers: Names,
    k: Ks = "1,5,10,50",
    order: OrderOption = Order.SCORE,
    exclude_seen: ExcludeSeen = True,
    fill: Fill = True,
    history_items: HistoryItems = None,
    predictions_from: PredictionsFrom = None,
    out: Out = None,
    predictions: Predictions = None,
    report: ReportDir = None,
    judgments: Judgments = None,
    name: DataName = None,
) -> None:
    """Measure retrievers on the held-out last items; the split is read from the bundle."""
    reporter = Reporter()
    names, ks = options.retrievers(retrievers, "--retrievers"), options.numbers(k, "--k")
    check_file(out, "--out")
    check_file(predictions, "--predictions")
    check_folder(report, "--report")
    _check_use(judgments, report)
    opened = Bundle.open(bundle)
    settings = Settings(order, exclude_seen, fill, history_items=history_items)
    test = read_target_users(opened, interactions, settings.part, reporter)
    graded, said = read_judgments(judgments, test.user_ids(), opened.ids) if judgments else (None, list[str]())
    read = _read_all(predictions_from or (), opened, test, names)
    deeper = NEAR_MISSES if report is not None else NOTHING_DEEPER
    evaluation = evaluate(opened, test, names, ks, settings, reporter, deeper=deeper)
    for found in read:
        said += add_predictions(evaluation, found, test.targets, ks)
    for sentence in said:
        reporter.say(sentence)
    if out is not None:
        write_results(out, results(opened, test, evaluation, settings))
    if predictions is not None:
        write_predictions(predictions, opened, test, evaluation)
    if report is not None:
        title = name or bundle.resolve().name
        told = report_on(opened, test, evaluation, ks, settings, reporter, data_set=title, judgments=graded, notes=said)
        for path in write_report(told, report):
            reporter.say(str(path))
    _wide_console().print(as_table(evaluation, len(test)))


def _read_all(
    paths: Sequence[Path], bundle: Bundle, test: TargetUsers, names: Sequence[RetrieverName]
) -> list[PredictionLists]:
    """The lists of others, refused now rather than after the bundle's own were made."""
    taken, read = set[str](names), list[PredictionLists]()
    for path in paths:
        found = read_predictions(path, test.user_ids(), bundle.ids)
        check_predictions(found, taken)
        taken |= set(found.lists)
        read.append(found)
    return read


def _check_use(judgments: Path | None, report: Path | None) -> None:
    if judgments is not None and report is None:
        raise ConfigError(
            "--judgments",
            found="no --report",
            expected="a folder for the report, where the credit of judged items stands",
            remedy="Add --report FOLDER.",
        )


def _wide_console() -> Console:
    """A pipe or a file has no width that a table must fit into."""
    console = Console()
    return console if console.is_terminal else Console(width=PIPE_COLUMNS)
