"""`shortlist bundles`: look at versions, choose the one that serves, delete old ones."""

from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from models.bundle import versions
from models.bundle.manifest import Manifest
from models.bundle.reader import Bundle
from models.errors import BundleError
from offline.commands import bundles_remote, options

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Versions of a bundle.")
app.command("push")(bundles_remote.push_command)
app.command("pull")(bundles_remote.pull_command)
app.add_typer(bundles_remote.remote_app, name="remote")

Version = Annotated[str, typer.Argument(metavar="VERSION")]
MaybeVersion = Annotated[str | None, typer.Argument(metavar="[VERSION]", help="[default: the current one]")]
Keep = Annotated[int, typer.Option("--keep", min=0, help="Newest versions that stay; current and previous always do.")]


def _print_json(content: Any) -> None:
    typer.echo(orjson.dumps(content, option=orjson.OPT_INDENT_2).decode())


def _entry(root: Path, version: str) -> dict[str, Any]:
    """What the list says of a version, also of one that cannot be opened."""
    current = version == versions.current(root)
    try:
        manifest = Bundle.open(root, version=version, verify="sizes").manifest
    except BundleError as error:
        return {"version": version, "current": current, "items": None, "split": None, "problem": str(error)}
    split = manifest.split.kind.value
    return {"version": version, "current": current, "items": manifest.n_items, "split": split, "problem": None}


@app.command("list")
def list_command(bundles: options.Bundles, as_json: options.AsJson = False) -> None:
    """All versions, oldest first; the current one is marked."""
    if not bundles.is_dir():
        raise BundleError(str(bundles), found="no such folder", expected="a bundles root", remedy="Check the path.")
    entries = [_entry(bundles, version) for version in versions.list_versions(bundles)]
    if as_json:
        _print_json(entries)
        return
    for entry in entries:
        mark = "*" if entry["current"] else " "
        what = entry["problem"] or f"{entry['items']:,} items, split {entry['split']}"
        typer.echo(f"{mark} {entry['version']}  {what}")


def _cost(cost: dict[str, float]) -> str:
    return f"{cost['seconds']} s, {cost['cpu_seconds']} s CPU, {cost['peak_mib']} MiB peak"


def _summary(manifest: Manifest) -> list[str]:
    size = sum(entry.bytes for entry in manifest.files.values())
    lines = [
        f"version   {manifest.version}",
        f"created   {manifest.created.isoformat()}",
        f"items     {manifest.n_items:,}",
        f"split     {manifest.split.kind.value}, truncate_history {manifest.split.truncate_history or 'none'}",
        f"files     {len(manifest.files)}, {size / 2**20:.1f} MiB",
    ]
    lines += [f"{name:<9} {value}" for name, value in manifest.statistics.items() if name != "items"]
    costs = manifest.sections.get("jobs", {})
    return lines + [f"job       {name}: {_cost(cost)}" for name, cost in costs.items()]


@app.command("show")
def show_command(bundles: options.Bundles, version: MaybeVersion = None, as_json: options.AsJson = False) -> None:
    """What a bundle says of itself: its manifest."""
    manifest = Bundle.open(bundles, version=version, verify="sizes").manifest
    if as_json:
        typer.echo(manifest.to_json().decode())
    else:
        typer.echo("\n".join(_summary(manifest)))


@app.command("verify")
def verify_command(bundles: options.Bundles, version: MaybeVersion = None) -> None:
    """Read every byte of a bundle and check it; exit code 4 if anything is wrong."""
    bundle = Bundle.open(bundles, version=version)
    typer.echo(f"{bundle.version} is whole: {len(bundle.manifest.files)} files, {bundle.n_items:,} items")


@app.command("use")
def use_command(version: Version, bundles: options.Bundles) -> None:
    """Verify a version and make it current."""
    versions.use(bundles, version)
    typer.echo(f"current is {version}")


@app.command("rollback")
def rollback_command(bundles: options.Bundles) -> None:
    """Return to the version that was current before."""
    typer.echo(f"current is {versions.rollback(bundles)}")


@app.command("prune")
def prune_command(bundles: options.Bundles, keep: Keep) -> None:
    """Delete old versions; prints those that went."""
    for version in versions.prune(bundles, keep):
        typer.echo(version)
