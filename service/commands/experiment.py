"""`shortlist experiment report` and `shortlist forget`: what the sinks hold."""

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, TypeVar

import orjson
import typer
from pydantic import SecretStr
from rich.console import Console
from rich.table import Table

from models.errors import ConfigError
from service.commands.serve import read_settings
from service.experiments.report import Report, VariantResult, report
from service.experiments.statistics import Interval

if TYPE_CHECKING:
    from service.redis.link import RedisLink
    from service.settings import Settings

T = TypeVar("T")
BROKEN_EXIT_CODE = 6
app = typer.Typer(help="What experiments showed.", no_args_is_help=True)

Sinks = Annotated[Path | None, typer.Option(help="Folder of the sinks [SHORTLIST_SINK_DIR].", show_default=False)]
Types = Annotated[list[str] | None, typer.Option("--event", help="Event types that count (repeatable); absent = all.")]
Control = Annotated[str | None, typer.Option(help="Variant to compare with; absent = the first by name.")]
Streams = Annotated[
    bool, typer.Option("--streams", help="Read the Redis streams, which all hosts write, instead of this host's files.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


@app.callback()
def experiment() -> None:
    """What experiments showed."""


@app.command("report")
def report_command(
    name: Annotated[str, typer.Argument(help="The experiment.")],
    sinks: Sinks = None,
    event: Types = None,
    control: Control = None,
    streams: Streams = False,
    as_json: AsJson = False,
) -> None:
    """Units, exposures, conversion rates with 95 % intervals, lift, fallback share and the sample-ratio check.

    Exits 6 when the sample ratio says that the numbers cannot be trusted.
    """
    with _streams() if streams else nullcontext(sinks or read_settings().sinks) as folder:
        found = report(folder, name, types=event or (), control=control, source=STREAMS if streams else None)
    if as_json:
        typer.echo(orjson.dumps(dataclasses.asdict(found) | {"broken": found.broken}).decode())
    else:
        _show(found)
    if found.broken:
        typer.secho(_shout(found), err=True, fg=typer.colors.RED, bold=True)
        raise typer.Exit(BROKEN_EXIT_CODE)


STREAMS = "the streams of Redis"


def _shout(found: Report) -> str:
    return (
        f"SAMPLE RATIO MISMATCH (p = {found.sample_ratio_p:.2g}): units did not come in the expected shares. "
        "Assignment, logging or a filter is broken; do not read the rates."
    )


def _show(found: Report) -> None:
    table = Table("", *(result.variant for result in found.variants), title=f"Experiment {found.experiment}")
    for name, cell in ROWS.items():
        table.add_row(name, *(cell(result) for result in found.variants))
    Console().print(table)
    typer.echo(f"control: {found.control}; intervals hold 95 %")
    typer.echo(
        f"sample ratio: p = {found.sample_ratio_p:.4f}; units seen in two variants, left out: {found.mixed_units}"
    )


def _percent(interval: Interval | None) -> str:
    return "" if interval is None else f"{interval.value:.2%} [{interval.low:.2%}, {interval.high:.2%}]"


ROWS: dict[str, Callable[[VariantResult], str]] = {
    "units": lambda result: f"{result.units:,}",
    "exposures": lambda result: f"{result.exposures:,}",
    "events": lambda result: f"{result.events:,}",
    "converted": lambda result: f"{result.converted:,}",
    "rate": lambda result: _percent(result.rate),
    "difference": lambda result: _percent(result.difference),
    "lift": lambda result: _percent(result.lift),
    "fallbacks": lambda result: f"{result.fallback_share:.2%}",
}
"""Rows of the table, one column a variant."""


@contextmanager
def _streams() -> Iterator[Path]:
    """A temporary folder with what the streams hold."""
    from service.redis import keys
    from service.sinks.export import export_streams

    with TemporaryDirectory(prefix="shortlist-streams-") as folder:
        streams = {"exposures": keys.EXPOSURES, "events": keys.EVENTS}
        _with_redis(lambda link, _: export_streams(link, streams, Path(folder)))
        yield Path(folder)


def _with_redis(work: "Callable[[RedisLink, Settings], Awaitable[T]]") -> T:
    """Run something on the Redis of the settings, else on the embedded one of a service that runs on their folder.

    Raises:
        ConfigError: it does not answer.
    """
    from service.live.live import redis_link
    from service.redis.link import RedisDownError
    from service.redis.server import EmbeddedRedis, EmbeddedRedisConfig

    settings = read_settings()
    if settings.redis_url is None and not (settings.data / "redis").is_dir():
        raise ConfigError(
            str(settings.data),
            found="no folder of a service's Redis in it",
            expected="the SHORTLIST_DATA_DIR of a service that runs",
            remedy="Set SHORTLIST_BUNDLES or SHORTLIST_DATA_DIR as for that service, or SHORTLIST_REDIS_URL.",
        )
    if settings.redis_url is None:
        url = EmbeddedRedis(EmbeddedRedisConfig(settings.data / "redis")).url
        settings = settings.model_copy(update={"redis_url": SecretStr(url)})

    async def run() -> T:
        link = redis_link(settings)
        try:
            return await work(link, settings)
        finally:
            await link.aclose()

    try:
        return asyncio.run(run())
    except RedisDownError as error:
        raise ConfigError(
            "Redis",
            found=str(error),
            expected="the Redis of the service",
            remedy="Start the service, or set SHORTLIST_BUNDLES, SHORTLIST_DATA_DIR or SHORTLIST_REDIS_URL as for it.",
        ) from error


def forget(user: Annotated[str, typer.Argument(help="The user's id.")]) -> None:
    """Erase a user from the history store, the streams and the sinks' files.

    Speaks to SHORTLIST_REDIS_URL, else to the embedded Redis of the service that runs on SHORTLIST_DATA_DIR. Files are
    those of this host.
    """
    from service.live.live import sink_key
    from service.redis import keys
    from service.sinks.forget import Forgotten, forget

    async def run(link: "RedisLink", settings: "Settings") -> Forgotten:
        streams = [keys.EXPOSURES, keys.EVENTS]
        return await forget(link, user, key=sink_key(settings), streams=streams, folder=settings.sinks)

    done = _with_redis(run)
    typer.echo(f"erased: {done.history} history entries, {done.streamed} stream records, {done.written} sink records")
