"""`shortlist baseline`: SASRec and HSTU of RecTools on a bundle's split, as lists for `evaluate --predictions-from`."""

import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated

import typer

from models.bundle.reader import Bundle
from models.errors import ConfigError
from offline.baselines.rectools import Job, Model, ModelSettings, recommend, write_lists
from offline.commands import options
from offline.evaluate import read_target_users
from offline.measure import measured
from offline.outputs import check_file
from offline.progress import Reporter
from offline.split import Part

app = typer.Typer(add_completion=False)

ModelArgument = Annotated[Model, typer.Argument(metavar="MODEL", help="sasrec or hstu.")]
Out = Annotated[Path, typer.Option("--out", help="Write the lists here (Parquet).")]
Python = Annotated[str, typer.Option("--python", help="Interpreter with rectools[torch]. [default: this one]")]
NAMES = ", ".join(one.name for one in fields(ModelSettings))
Settings = Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help=f"One of {NAMES}; repeatable.")]


@app.command("baseline", cls=options.ManyValues)
def baseline_command(
    model: ModelArgument,
    bundle: options.BundleDir,
    interactions: options.Interactions,
    out: Out,
    python: Python = sys.executable,
    k: Annotated[int, typer.Option("--k", min=1, help="Length of the lists.")] = 50,
    exclude_seen: Annotated[bool, typer.Option("--exclude-seen/--include-seen", help="As in evaluate.")] = True,
    settings: Settings = None,
    threads: Annotated[int, typer.Option("--threads", min=1, help="Threads of training.")] = 2,
    seed: Annotated[int, typer.Option("--seed", help="Of weights and batches.")] = 1,
) -> None:
    """Train a baseline on a bundle's split and write its lists for the test users."""
    reporter = Reporter()
    check_file(out, "--out")
    opened = Bundle.open(bundle)
    test = read_target_users(opened, interactions, Part.TEST, reporter)
    job = Job(model, changed(settings or []), python, k, exclude_seen, threads, seed)
    with measured() as cost:
        lists = recommend(job, test)
    write_lists(out, model.value, opened, test, lists)
    reporter.done(model.value, cost)
    reporter.say(str(out))


def changed(pairs: list[str]) -> ModelSettings:
    """The defaults with `NAME=VALUE` pairs applied.

    Raises:
        ConfigError: an unknown name, or a value of another type.

    >>> changed(["epochs=3", "lr=0.01"]).epochs
    3
    """
    settings = ModelSettings()
    for pair in pairs:
        name, _, text = pair.partition("=")
        try:
            value = type(getattr(settings, name))(text)
        except (AttributeError, ValueError) as error:
            raise ConfigError(
                "--set", found=repr(pair), expected=f"NAME=VALUE with one of {NAMES}", remedy="Write --set epochs=10."
            ) from error
        settings = replace(settings, **{name: value})
    return settings
