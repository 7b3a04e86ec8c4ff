"""`shortlist audit`: what a data set rewards, before anything is trained on it."""

from pathlib import Path
from typing import Annotated

import typer

from models.bundle.reader import Bundle
from offline.audit.run import audit
from offline.commands import options
from offline.evaluate import read_target_users
from offline.progress import Reporter
from offline.report.files import write_report
from offline.split import Part

app = typer.Typer(add_completion=False)

Out = Annotated[Path, typer.Option("--out", help="Folder for report.html, report.json and report.csv.")]
Name = Annotated[str | None, typer.Option("--name", help="Name of the data set. [default: the bundles folder's]")]


@app.command("audit", cls=options.ManyValues)
def audit_command(
    bundle: options.BundleDir,
    interactions: options.Interactions,
    out: Out = Path("audit"),
    name: Name = None,
) -> None:
    """Audit a data set: its graph, its shortcuts, what needs no training, and which retriever to start with."""
    reporter = Reporter()
    opened = Bundle.open(bundle)
    test = read_target_users(opened, interactions, Part.TEST, reporter)
    told = audit(opened, test, reporter, data_set=name or bundle.resolve().name)
    for sentence in (*[signal.sentence for signal in told.signals], *told.reasons):
        typer.echo(sentence)
    for path in write_report(told, out):
        reporter.say(str(path))
