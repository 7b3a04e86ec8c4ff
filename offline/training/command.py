"""`shortlist train`: the network of DR and GR, from a bundle and its interactions."""

import ast
import shutil
from pathlib import Path
from typing import Annotated, Any

import typer

from models.errors import ConfigError
from models.neural.config import Preset, TrainingConfig, changed, training_preset
from models.neural.semantic_ids import IdConfig, Quantiser
from offline.commands import options
from offline.training.devices import DeviceChoice
from offline.training.progress import TrainingProgress
from offline.training.request import TrainRequest

app = typer.Typer(add_completion=False)

PresetOption = Annotated[Preset, typer.Option("--preset", help="compact: two CPU cores. paper: LIGER, for a GPU.")]
Epochs = Annotated[
    int | None, typer.Option("--epochs", min=1, help="Stop after so many epochs. [default: validation decides]")
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Another training setting; repeatable.")
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
    checkpoints: Checkpoints = None,
    activate: Annotated[bool, typer.Option("--activate/--keep-current", help="Serve the new version.")] = True,
) -> None:
    """Train DR and GR jointly on the current bundle's items and publish a version that serves them.

    A training that was killed goes on where it was when the same command is given again. For several GPUs:
    torchrun --nproc-per-node N -m models.cli train ...
    """
    from offline.training.train import train

    folder = checkpoints or bundles / f".training-{preset.value}"
    request = TrainRequest(
        bundles=bundles,
        interactions=tuple(interactions),
        preset=preset,
        config=configured(training_preset(preset), settings or []),
        ids=IdConfig(quantiser=quantiser),
        epochs=epochs,
        device=device,
        threads=threads,
        checkpoints=folder,
        activate=activate,
    )
    version = train(request, TrainingProgress())
    if version is not None:
        shutil.rmtree(folder, ignore_errors=True)
        typer.echo(version)


def configured(config: TrainingConfig, settings: list[str]) -> TrainingConfig:
    """The configuration with `NAME=VALUE` pairs applied.

    Raises:
        ConfigError: a pair without `=`, an unknown name or a value of another type.

    >>> configured(TrainingConfig(), ["epochs=3", "smoothing=0.1"]).epochs
    3
    """
    changes: dict[str, Any] = {}
    for pair in settings:
        name, separator, text = pair.partition("=")
        if not separator:
            raise _refused(pair, "NAME=VALUE")
        changes[name] = _value(config, name, text)
    return changed(config, changes)


def _value(config: TrainingConfig, name: str, text: str) -> Any:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError) as error:
        raise _refused(f"{name}={text}", "a number") from error
    current = config.facts().get(name)
    if isinstance(current, float) and isinstance(value, int):
        return float(value)
    if current is not None and type(value) is not type(current):
        raise _refused(f"{name}={text}", f"a value like {current!r}")
    return value


def _refused(pair: str, expected: str) -> ConfigError:
    return ConfigError("--set", found=repr(pair), expected=expected, remedy="Write --set epochs=10.")
