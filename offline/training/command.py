"""`shortlist train`: the network of DR and GR, from a bundle and its interactions."""

import ast
import shutil
from pathlib import Path
from typing import Annotated, Any

import typer

from models.errors import ConfigError
from models.neural.config import Preset, TrainingConfig, changed, network_preset, training_preset
from models.neural.semantic_ids import IdConfig, Quantiser
from offline.commands import options
from offline.config import EngineKind, EngineRules
from offline.training.devices import DeviceChoice
from offline.training.progress import TrainingProgress
from offline.training.request import TrainRequest

app = typer.Typer(add_completion=False)

NETWORK = {
    name: value
    for name, value in network_preset(Preset.COMPACT, text_width=0, codebooks=()).facts().items()
    if isinstance(value, int | float) and not isinstance(value, bool) and name != "text_width"
}
"""Numbers of the network's configuration that may be set."""

PresetOption = Annotated[Preset, typer.Option("--preset", help="compact: two CPU cores. paper: LIGER, for a GPU.")]
Epochs = Annotated[
    int | None, typer.Option("--epochs", min=1, help="Stop after so many epochs. [default: validation decides]")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Another setting of training or network; repeatable."),
]
Checkpoints = Annotated[
    Path | None,
    typer.Option("--checkpoints", help="Folder of checkpoints; deleted at the end. [default: beside the bundles]"),
]


@app.command("train", cls=options.ManyValues)
def train_command(
    bundles: options.Bundles,
    interactions: options.Interactions,
    preset: PresetOption = Preset.COMPACT,
    epochs: Epochs = None,
    settings: Settings = None,
    quantiser: Annotated[Quantiser, typer.Option("--quantiser", help="Of semantic IDs.")] = Quantiser.KMEANS,
    device: Annotated[DeviceChoice, typer.Option("--device", help="Where to train.")] = DeviceChoice.AUTO,
    threads: Annotated[int, typer.Option("--threads", min=1, help="Threads on the CPU.")] = 2,
    engine: options.Engine = None,
    master: options.Master = None,
    work: options.Work = None,
    processes: Annotated[int, typer.Option("--processes", min=1, help="On blocks of items, each with --threads.")] = 1,
    checkpoints: Checkpoints = None,
    activate: Annotated[bool, typer.Option("--activate/--keep-current", help="Serve the new version.")] = True,
) -> None:
    """Train DR and GR jointly on the current bundle's items and publish a version that serves them.

    A training that was killed goes on where it was when the same command is given again. For several GPUs:
    torchrun --nproc-per-node N --no-python shortlist train ...
    Semantic IDs are assigned and item vectors made in blocks of items: in --processes, or with --engine spark as tasks.
    """
    from offline.training.train import train

    config, network = configured(preset, settings or [])
    folder = checkpoints or bundles / f".training-{preset.value}"
    request = TrainRequest(
        bundles=bundles,
        interactions=tuple(interactions),
        preset=preset,
        config=config,
        network=network,
        ids=IdConfig(quantiser=quantiser),
        epochs=epochs,
        device=device,
        threads=threads,
        engine=EngineRules(kind=engine or EngineKind.DUCKDB, master=master, work=work, processes=processes),
        checkpoints=folder,
        activate=activate,
    )
    version = train(request, TrainingProgress())
    if version is not None:
        shutil.rmtree(folder, ignore_errors=True)
        typer.echo(version)


def configured(preset: Preset, settings: list[str]) -> tuple[TrainingConfig, dict[str, Any]]:
    """The training with `NAME=VALUE` pairs applied, and those that speak of the network.

    Raises:
        ConfigError: a pair without `=`, an unknown name or a value of another type.

    >>> training, network = configured(Preset.COMPACT, ["epochs=3", "block_dropout=0.1"])
    >>> training.epochs, network
    (3, {'block_dropout': 0.1})
    """
    training = training_preset(preset)
    known = NETWORK | training.facts()
    values = {name: _value(known, name, text) for name, text in map(_pair, settings)}
    ours = {name: value for name, value in values.items() if name not in NETWORK}
    return changed(training, ours), {name: value for name, value in values.items() if name in NETWORK}


def _pair(setting: str) -> tuple[str, str]:
    name, separator, text = setting.partition("=")
    if not separator:
        raise _refused(setting, "NAME=VALUE")
    return name, text


def _value(known: dict[str, Any], name: str, text: str) -> Any:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError) as error:
        raise _refused(f"{name}={text}", "a number") from error
    current = known.get(name)
    if isinstance(current, float) and isinstance(value, int):
        return float(value)
    if current is not None and type(value) is not type(current):
        raise _refused(f"{name}={text}", f"a value like {current!r}")
    return value


def _refused(pair: str, expected: str) -> ConfigError:
    return ConfigError("--set", found=repr(pair), expected=expected, remedy="Write --set epochs=10.")
