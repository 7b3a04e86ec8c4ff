"""`shortlist build`: interactions and catalogue in, a published bundle out."""

from pathlib import Path
from typing import Annotated

import typer

from offline.build import Request, build
from offline.commands import options
from offline.config import BuildConfig, override, read_config
from offline.increment.run import UpdateRequest, update
from offline.progress import Reporter

app = typer.Typer(add_completion=False)
update_app = typer.Typer(add_completion=False)

Processes = Annotated[int | None, typer.Option("--processes", min=1, help="Side by side on blocks of items.")]
STATE_HELP = "Folder of what `shortlist update` goes on from; what is built without it cannot be updated."
StateRoot = Annotated[Path, typer.Option("--state", help=STATE_HELP)]
Items = Annotated[Path | None, typer.Option("--items", help="Catalogue: CSV, JSONL (also .gz) or Parquet.")]


def configured(base: BuildConfig, split: str | None, truncate: int | None, encoder: str | None) -> BuildConfig:
    """A configuration with the command line's options over it."""
    changes = {"split": split, "truncate_history": truncate, "text.encoder": encoder}
    return override(base, changes)


@app.command("build", cls=options.ManyValues)
def build_command(
    interactions: options.Sources,
    bundles: options.Bundles,
    items: options.SourceOfItems = None,
    config: options.Config = None,
    split: options.SplitOption = None,
    truncate_history: options.Truncate = None,
    text_encoder: options.TextEncoder = None,
    embeddings: options.Embeddings = None,
    engine: options.Engine = None,
    master: options.Master = None,
    work: options.Work = None,
    processes: Processes = None,
    state: StateRoot | None = None,
) -> None:
    """Build a bundle and make it current. Prints its version; progress and costs go to standard error."""
    settings = configured(read_config(config), split, truncate_history, text_encoder)
    settings = override(settings, options.engine_changes(engine, master, work) | {"engine.processes": processes})
    request = Request(bundles, settings, options.inputs(interactions, items), embeddings, state)
    typer.echo(build(request, Reporter()))


@update_app.command("update", cls=options.ManyValues)
def update_command(
    interactions: options.Sources,
    bundles: options.Bundles,
    state: StateRoot,
    items: options.SourceOfItems = None,
    embeddings: options.Embeddings = None,
) -> None:
    """Bring the current bundle up to date with new interactions, and the catalogue where it changed.

    The result equals a build on all files ever given; trained parts are kept, new items join them. Prints the version.
    """
    typer.echo(update(UpdateRequest(bundles, state, options.inputs(interactions, items), embeddings), Reporter()))
