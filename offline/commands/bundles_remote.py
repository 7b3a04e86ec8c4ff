"""`shortlist bundles push`, `pull` and `remote`: bundles in object storage or on a shared folder."""

from typing import Annotated

import orjson
import typer

from models.bundle.mirror import sync, sync_version
from models.bundle.reader import Bundle
from models.bundle.remote import Remote
from offline.commands import options

remote_app = typer.Typer(add_completion=False, no_args_is_help=True, help="Versions elsewhere: s3://, gs://, a folder.")

MaybeVersion = Annotated[str | None, typer.Argument(metavar="[VERSION]", help="[default: the current one]")]
Version = Annotated[str, typer.Argument(metavar="VERSION")]
To = Annotated[str, typer.Option("--to", metavar="URL", help="s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or a folder.")]
From = Annotated[str, typer.Option("--from", metavar="URL", help="s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or a folder.")]
At = Annotated[str, typer.Option("--at", metavar="URL", help="s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or a folder.")]
Activate = Annotated[bool, typer.Option("--activate/--no-activate", help="Make it the current version there.")]
Keep = Annotated[int, typer.Option("--keep", min=0, help="Newest versions that stay; the current one always does.")]


def push_command(bundles: options.Bundles, to: To, version: MaybeVersion = None, activate: Activate = True) -> None:
    """Verify a bundle and upload it; services that follow that place pick it up."""
    bundle = Bundle.open(bundles, version=version)
    fresh = Remote.open(to).push(bundle, activate=activate)
    typer.echo(f"{bundle.version} {'is' if fresh else 'was already'} at {to}{', current' if activate else ''}")


def pull_command(bundles: options.Bundles, source: From, version: MaybeVersion = None) -> None:
    """Fetch a bundle, verify it and make it the current one here."""
    remote = Remote.open(source)
    fetched = sync(remote, bundles) if version is None else sync_version(remote, version, bundles)
    size = f"{fetched.downloaded_bytes / 2**20:.1f} MiB fetched, {fetched.linked_bytes / 2**20:.1f} MiB already here"
    typer.echo(f"current is {fetched.version} ({size if fetched.changed else 'nothing new'})")


@remote_app.command("list")
def list_command(at: At, as_json: options.AsJson = False) -> None:
    """Published versions, oldest first; the current one is marked."""
    remote = Remote.open(at)
    versions = remote.versions()
    current = remote.current() if versions else None
    if as_json:
        typer.echo(orjson.dumps([{"version": one, "current": one == current} for one in versions]).decode())
        return
    for one in versions:
        typer.echo(f"{'*' if one == current else ' '} {one}")


@remote_app.command("use")
def use_command(version: Version, at: At) -> None:
    """Make a published version the current one there: also the way back to an earlier one."""
    Remote.open(at).use(version)
    typer.echo(f"current is {version}")


@remote_app.command("prune")
def prune_command(at: At, keep: Keep) -> None:
    """Delete old versions there, and uploads that never ended; prints those that went."""
    for version in Remote.open(at).prune(keep):
        typer.echo(version)
