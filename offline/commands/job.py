"""`shortlist job`: one job of a build alone."""

from pathlib import Path
from typing import Annotated

import typer

from models.bundle.reader import Bundle
from offline.build import Request, run_job
from offline.commands import options
from offline.commands.build import Items, configured
from offline.config import BuildConfig, read_config
from offline.dataset import Inputs
from offline.evaluate import build_config
from offline.jobs.catalog import JOBS
from offline.progress import Reporter

app = typer.Typer(add_completion=False)

NAMES = "; ".join(f"{job.name} ({job.about})" for job in JOBS)
Name = Annotated[str, typer.Argument(metavar="NAME", help=f"One of: {NAMES}.")]
SomeInteractions = Annotated[
    list[Path] | None,
    typer.Option(options.MANY, metavar="F [F ...]", help="For the jobs items, graph and values."),
]


def _base_config(name: str, bundles: Path, config: Path | None) -> BuildConfig:
    """A job that derives from a bundle keeps its configuration unless told otherwise."""
    if config is not None or name == "items":
        return read_config(config)
    return build_config(Bundle.open(bundles, verify="sizes"))


@app.command("job", cls=options.ManyValues)
def job_command(
    name: Name,
    bundles: options.Bundles,
    interactions: SomeInteractions = None,
    items: Items = None,
    config: options.Config = None,
    split: options.SplitOption = None,
    truncate_history: options.Truncate = None,
    text_encoder: options.TextEncoder = None,
    embeddings: options.Embeddings = None,
) -> None:
    """Run one job on a new version derived from the current bundle, then those that read its artifacts."""
    settings = configured(_base_config(name, bundles, config), split, truncate_history, text_encoder)
    inputs = Inputs(tuple(interactions), items) if interactions else None
    typer.echo(run_job(Request(bundles, settings, inputs, embeddings), name, Reporter()))
