"""`shortlist compare`: two reports side by side."""

from pathlib import Path
from typing import Annotated

import typer

from offline.outputs import check_folder
from offline.progress import Reporter
from offline.report.compare import compare_runs
from offline.report.files import read_report, write_comparison

app = typer.Typer(add_completion=False)

Report = Annotated[Path, typer.Argument(help="A report.json, or the folder that holds it.")]
Out = Annotated[Path, typer.Option("--out", help="Folder for report.html and report.csv.")]


@app.command("compare")
def compare_command(left: Report, right: Report, out: Out = Path("comparison")) -> None:
    """Put two evaluations, or two audits, side by side with differences."""
    reporter = Reporter()
    check_folder(out, "--out")
    for path in write_comparison(compare_runs(read_report(left), read_report(right)), out):
        reporter.say(str(path))
