"""The bundle that a reproduction asks: one that exists and fits, else built, and trained where the paper trains."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from models.bundle.reader import Bundle
from models.bundle.versions import list_versions
from models.errors import BundleError, MissingExtraError
from models.registry import available
from models.words import Split
from offline.build import Request, build
from offline.config import override
from offline.progress import Reporter
from offline.reproduce.folder import DataFolder
from offline.reproduce.protocol import Protocol
from offline.reproduce.published import Paper

WITHOUT_BRANDS = "Title: {title}; Brand: ; Categories: {paths}"
"""Item text of the published MiniLM figures."""

CHECKPOINTS = ".training"


@dataclass(frozen=True, slots=True)
class Wish:
    """What to look for, and how to make it.

    Attributes:
        bundles: folder to search and to build in: a bundles root, or a folder of such.
        encoder: text encoder; None = WordLlama, or whatever a bundle that fits was built with.
        epochs: stop training after so many; None = validation decides.
        threads: threads of training.
    """

    bundles: Path
    encoder: str | None = None
    epochs: int | None = None
    threads: int = 2


def obtain(data: DataFolder, protocol: Protocol, wish: Wish, reporter: Reporter) -> Bundle:
    """The best bundle that exists, else a new one.

    A bundle fits if it was built from these very files with the last items held out, with the text encoder that was
    asked for, and holds what the paper needs. Of several, the one truncated as the paper does, then the newest.

    Raises:
        InputError: the files are malformed.
        MissingExtraError: the paper trains, and the packages for it are not installed.
    """
    found = sorted(_fitting(data, protocol, wish), key=lambda bundle: _rank(bundle, protocol))
    if found:
        reporter.say(f"{data.name}: asking bundle {found[-1].path}")
        return found[-1]
    root = wish.bundles / _name(data, protocol, wish)
    if not _built(root, data):
        build(_request(root, data, protocol, wish), reporter)
    if protocol.needed:
        _train(root, data, wish)
    return Bundle.open(root)


def _rank(bundle: Bundle, protocol: Protocol) -> tuple[bool, int, str]:
    truncated = bundle.manifest.split.truncate_history == protocol.truncate_history
    return truncated, len(available(bundle)), bundle.version


def _fitting(data: DataFolder, protocol: Protocol, wish: Wish) -> Iterator[Bundle]:
    digests = data.digests()
    for bundle in _all(wish.bundles):
        same = {str(facts["sha256"]) for facts in bundle.manifest.sections.get("inputs", {}).values()} == digests
        if same and bundle.manifest.split.kind is Split.LEAVE_LAST_OUT and _serves(bundle, protocol, wish):
            yield bundle


def _serves(bundle: Bundle, protocol: Protocol, wish: Wish) -> bool:
    encoder = wish.encoder is None or text_source(bundle) == wish.encoder
    # The heuristic's figures stand for whole sequences; a trained bundle of either kind can redo the value prior.
    whole = protocol.paper is Paper.VALUE_PRIOR or bundle.manifest.split.truncate_history is None
    return encoder and whole and set(protocol.needed) <= set(available(bundle))


def text_source(bundle: Bundle) -> str:
    """What made a bundle's embeddings: a text encoder, or the file of the user's own vectors."""
    return str(bundle.manifest.sections.get("embeddings", {}).get("source", "none"))


def _all(folder: Path) -> Iterator[Bundle]:
    roots = [folder, *(sorted(folder.iterdir()) if folder.is_dir() else [])]
    for root in roots:
        if not (root / "CURRENT").is_file():
            continue
        for version in list_versions(root):
            try:
                yield Bundle.open(root, version=version, verify="sizes")
            except BundleError:
                continue


def _name(data: DataFolder, protocol: Protocol, wish: Wish) -> str:
    kept = "whole" if protocol.truncate_history is None else f"last-{protocol.truncate_history}"
    return "-".join(part for part in (data.name, kept, wish.encoder or data.config.text.encoder) if part)


def _built(root: Path, data: DataFolder) -> bool:
    """Whether an earlier run was stopped between build and training."""
    if not (root / "CURRENT").is_file():
        return False
    inputs = Bundle.open(root, verify="sizes").manifest.sections.get("inputs", {})
    return {str(facts["sha256"]) for facts in inputs.values()} == data.digests()


def _request(root: Path, data: DataFolder, protocol: Protocol, wish: Wish) -> Request:
    changes: dict[str, object] = {
        "split": Split.LEAVE_LAST_OUT.value,
        "truncate_history": protocol.truncate_history,
        "text.encoder": wish.encoder,
    }
    if wish.encoder == "minilm" and protocol.paper is Paper.HEURISTIC:
        changes["text.template"] = WITHOUT_BRANDS
    return Request(root, override(data.config, changes), data.inputs)


def _train(root: Path, data: DataFolder, wish: Wish) -> None:
    try:
        from models.neural.config import Preset, training_preset
        from offline.training.progress import TrainingProgress
        from offline.training.request import TrainRequest
        from offline.training.train import train
    except ImportError as error:
        raise MissingExtraError(
            "shortlist reproduce value-prior",
            found=f"no package {error.name}",
            expected="the packages that train DR and GR",
            remedy="pip install 'shortlist[train]', or pass --bundles with a trained bundle.",
        ) from error
    request = TrainRequest(
        bundles=root,
        interactions=(data.interactions,),
        preset=Preset.COMPACT,
        config=training_preset(Preset.COMPACT),
        epochs=wish.epochs,
        threads=wish.threads,
        checkpoints=root / CHECKPOINTS,
    )
    train(request, TrainingProgress())
    shutil.rmtree(root / CHECKPOINTS, ignore_errors=True)
