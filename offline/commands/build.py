"""`shortlist build`: interactions and catalogue in, a published bundle out."""

from pathlib import Path
from typing import Annotated

import typer

from offline.build import Request, build
from offline.commands import options
from offline.config import BuildConfig, override, read_config
from offline.dataset import Inputs
from offline.progress import Reporter

app = typer.Typer(add_completion=False)

Items = Annotated[Path | None, typer.Option("--items", help="Catalogue: CSV, JSONL (also .gz) or Parquet.")]


def configured(base: BuildConfig, split: str | None, truncate: int | None, encoder: str | None) -> BuildConfig:
    """A configuration with the command line's options over it."""
    changes = {"split": split, "truncate_history": truncate, "text.encoder": encoder}
    return override(base, changes)


@app.command("build", cls=options.ManyValues)
def build_command(
    interactions: options.Interactions,
    bundles: options.Bundles,
    items: Items = None,
    config: options.Config = None,
    split: options.SplitOption = None,
    truncate_history: options.Truncate = None,
    text_encoder: options.TextEncoder = None,
    embeddings: options.Embeddings = None,
) -> None:
    """Build a bundle and make it current. Prints its version; progress and costs go to standard error."""
    settings = configured(read_config(config), split, truncate_history, text_encoder)
    request = Request(bundles, settings, Inputs(tuple(interactions), items), embeddings)
    typer.echo(build(request, Reporter()))
