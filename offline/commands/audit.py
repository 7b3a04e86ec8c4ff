"""`shortlist audit`: what a data set rewards, before anything is trained on it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from models.bundle.reader import Bundle
from offline.audit.bundle import passing_bundle
from offline.audit.run import audit
from offline.commands import options
from offline.commands.build import configured
from offline.config import BuildConfig, override, read_config
from offline.dataset import Inputs
from offline.evaluate import read_target_users
from offline.measure import measured
from offline.outputs import check_folder
from offline.progress import Reporter
from offline.report.files import write_report
from offline.split import Part

app = typer.Typer(add_completion=False)

SomeBundle = Annotated[
    Path | None,
    typer.Option("--bundle", help="A bundles root or one version's folder. [default: built for the audit, then gone]"),
]
Out = Annotated[Path, typer.Option("--out", help="Folder for report.html, report.json and report.csv.")]
Name = Annotated[str | None, typer.Option("--name", help="Name of the data set. [default: the folder's]")]


@app.command("audit", cls=options.ManyValues)
def audit_command(
    interactions: options.Sources,
    bundle: SomeBundle = None,
    items: options.SourceOfItems = None,
    config: options.Config = None,
    truncate_history: options.Truncate = None,
    text_encoder: options.TextEncoder = None,
    out: Out = Path("audit"),
    name: Name = None,
    engine: options.Engine = None,
    master: options.Master = None,
    work: options.Work = None,
) -> None:
    """Audit a data set: its graph, its shortcuts, what needs no training, and which retriever to start with.

    From the files alone nothing is trained. A bundle that was trained adds history dependence.
    """
    reporter = Reporter()
    check_folder(out, "--out")
    settings = configured(read_config(config), None, truncate_history, text_encoder)
    settings = override(settings, options.engine_changes(engine, master, work))
    files = options.inputs(interactions, items)
    title = name or (bundle or Path(interactions[0]).parent).resolve().name
    with measured() as cost, _opened(bundle, files, settings, reporter) as opened:
        test = read_target_users(opened, files.interactions, Part.TEST, reporter)
        told = audit(opened, test, reporter, data_set=title)
        written = write_report(told, out)
    for sentence in (*[signal.sentence for signal in told.signals], *told.reasons):
        typer.echo(sentence)
    for note in told.notes:
        reporter.say(note)
    for path in written:
        reporter.say(str(path))
    reporter.done("audit", cost)


@contextmanager
def _opened(bundle: Path | None, inputs: Inputs, config: BuildConfig, reporter: Reporter) -> Iterator[Bundle]:
    if bundle is not None:
        yield Bundle.open(bundle)
        return
    with passing_bundle(inputs, config, reporter) as passing:
        yield passing
