"""Options that several commands share."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from models.errors import ConfigError
from models.words import RetrieverName, Split
from offline.config import EngineKind
from offline.dataset import Inputs
from offline.ingest.engine import Source

MANY = "--interactions"

Bundles = Annotated[Path, typer.Option("--bundles", help="Bundles root: versions and CURRENT.")]
BundleDir = Annotated[Path, typer.Option("--bundle", help="A bundles root, or one version's folder.")]
Interactions = Annotated[
    list[Path],
    typer.Option(MANY, metavar="F [F ...]", help="CSV, JSONL (also .gz) or Parquet; order decides ties of time."),
]
Sources = Annotated[
    list[str],
    typer.Option(
        MANY, metavar="F [F ...]",
        help="CSV, JSONL (also .gz), Parquet or a folder of it; with Spark also URIs; order decides ties of time.",
    ),
]  # fmt: skip
SourceOfItems = Annotated[
    str | None, typer.Option("--items", help="Catalogue: CSV, JSONL (also .gz) or Parquet; with Spark also a URI.")
]
Engine = Annotated[EngineKind | None, typer.Option("--engine", help="[default: duckdb]")]
Master = Annotated[str | None, typer.Option("--master", help="Spark's master, such as local[4] or yarn.")]
Work = Annotated[str | None, typer.Option("--work", help="Folder or URI of Spark's tables while it works.")]
Config = Annotated[Path | None, typer.Option("--config", help="build.toml.")]
SplitOption = Annotated[Split | None, typer.Option("--split", help="Hold items out for evaluation. [default: none]")]
Truncate = Annotated[
    int | None, typer.Option("--truncate-history", min=1, help="Keep a user's last N interactions, before the split.")
]
TextEncoder = Annotated[
    str | None,
    typer.Option("--text-encoder", help="wordllama, minilm, hf:NAME, onnx:DIR or none. [default: wordllama]"),
]
Embeddings = Annotated[
    Path | None,
    typer.Option("--embeddings", help="Your own item vectors: Parquet (item_id, embedding), or .npy beside .txt."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]


class ManyValues(TyperCommand):
    """A command that takes several values after one `--interactions`, as shells expand `*.csv`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Repeat the option before each of its values."""
        return list(super().parse_args(ctx, repeat_option(args, MANY)))


def repeat_option(args: Sequence[str], option: str) -> list[str]:
    """Arguments in which each value of an option has its own.

    >>> repeat_option(["--interactions", "a", "b", "--bundles", "d"], "--interactions")
    ['--interactions', 'a', '--interactions', 'b', '--bundles', 'd']
    """
    repeated: list[str] = []
    inside, first = False, False
    for arg in args:
        if inside and not first and not arg.startswith("-"):
            repeated.append(option)
        first = arg == option
        inside = first or (inside and not arg.startswith("-"))
        repeated.append(arg)
    return repeated


def split_list(text: str, option: str) -> list[str]:
    """Values between commas; quotes keep a comma inside a value.

    Raises:
        ConfigError: a value is empty.

    >>> split_list('A,"B,1"', "--history")
    ['A', 'B,1']
    """
    values = next(csv.reader([text]), [])
    if not all(values):
        raise ConfigError(option, found=repr(text), expected="values between commas", remedy="Remove the stray comma.")
    return values


def numbers(text: str, option: str) -> list[int]:
    """Whole numbers between commas.

    Raises:
        ConfigError: one is not.

    >>> numbers("1,5", "--k")
    [1, 5]
    """
    try:
        return [int(value) for value in split_list(text, option)]
    except ValueError as error:
        raise ConfigError(
            option, found=repr(text), expected="whole numbers between commas", remedy="Write 1,5,10."
        ) from error


def retrievers(text: str, option: str) -> list[RetrieverName]:
    """Names of retrievers between commas, each once.

    Raises:
        ConfigError: there is none, or one is unknown.
    """
    names = list(dict.fromkeys(split_list(text, option)))
    known = ", ".join(RetrieverName)
    if not names:
        raise ConfigError(option, found="no name", expected=f"some of {known}", remedy="Name at least one.")
    for name in names:
        if name not in set(RetrieverName):
            raise ConfigError(option, found=repr(name), expected=f"one of {known}", remedy="Correct the name.")
    return [RetrieverName(name) for name in names]


def inputs(interactions: Sequence[str], items: str | None) -> Inputs:
    """The user's files: local paths, and URIs for Spark."""
    return Inputs(tuple(map(_source, interactions)), None if items is None else _source(items))


def _source(text: str) -> Source:
    return text if "://" in text else Path(text)


def engine_changes(engine: EngineKind | None, master: str | None, work: str | None) -> dict[str, Any]:
    """Entries of the configuration that the engine's options set."""
    return {"engine.kind": engine, "engine.master": master, "engine.work": work}
