"""The `shortlist` command: a thin entry point that finds the other rooms' commands only when they are asked for.

Commands are entry points of the group `shortlist.commands`, so this room imports no other. An entry point loads to a
`typer.Typer` app (a group of commands) or to a function with typer annotations (one command).
"""

import sys
from importlib.metadata import EntryPoint, entry_points, version
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from models.errors import ShortlistError

GROUP = "shortlist.commands"


def _commands() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def _load(point: EntryPoint) -> TyperCommand | TyperGroup:
    loaded: Any = point.load()
    group = loaded if isinstance(loaded, typer.Typer) else typer.Typer(add_completion=False)
    if group is not loaded:
        group.command(name=point.name)(loaded)
    command = typer.main.get_command(group)
    if not isinstance(command, TyperCommand | TyperGroup):
        raise TypeError(f"entry point {point.name} gave a {type(command).__name__}, not a typer command")
    command.name = point.name
    return command


class LazyGroup(TyperGroup):
    """A click group whose commands are loaded from entry points on first use."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Names of all installed commands."""
        return sorted(_commands())

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | TyperGroup | None:  # noqa: ARG002
        """The command of that name, imported now; None if there is none."""
        point = _commands().get(cmd_name)
        return None if point is None else _load(point)


app = typer.Typer(cls=LazyGroup, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


def _print_version(value: bool) -> None:
    if value:
        typer.echo(version("shortlist"))
        raise typer.Exit


@app.callback()
def shortlist(
    _: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Print the version."),
) -> None:
    """Candidate generation for a storefront: build bundles, serve them, evaluate and audit them."""


def main() -> None:
    """Run the command; an error meant for a person is printed without a stack trace and sets the exit code."""
    try:
        app()
    except ShortlistError as error:
        typer.secho(f"error: {error}", err=True, fg=typer.colors.RED)
        sys.exit(error.exit_code)
