"""`shortlist plan`: memory, disk, build time and replicas for a shop."""

import json
import math
from collections.abc import Iterator
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from models.errors import ConfigError
from offline.plan.constants import Constants, read_constants
from offline.plan.model import Means, Plan, Shop, plan

Count = Annotated[int, typer.Option(min=1, show_default=False)]
HELP_MIX = "Shares by retriever, such as tgh-2=0.9,gr=0.1; they sum to 1."


def mix(text: str, constants: Constants) -> dict[str, float]:
    """Shares by retriever.

    Raises:
        ConfigError: a name or a number is none, or the shares do not sum to 1.
    """
    known = sorted(constants.api["request_us"])
    try:
        pairs = [(name, float(share)) for name, share in (part.split("=") for part in text.split(","))]
    except ValueError:
        raise _refused(repr(text), "NAME=SHARE, several with commas between") from None
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _refused(repr(text), "each retriever once")
    if unknown := sorted(found.keys() - set(known)):
        raise _refused(f"no measured retriever {', '.join(unknown)}", f"one of {', '.join(known)}")
    if any(not 0 <= share <= 1 for share in found.values()) or abs(sum(found.values()) - 1) > 1e-6:
        raise _refused(f"shares that sum to {sum(found.values()):g}", "shares from 0 to 1 that sum to 1")
    return found


def _refused(found: str, expected: str) -> ConfigError:
    return ConfigError("--retriever-mix", found=found, expected=expected, remedy="Correct the shares.")


def plan_command(
    users: Count,
    items: Count,
    interactions: Count,
    qps: Annotated[float, typer.Option(min=0, help="Lists a second, mean of a day.", show_default=False)],
    retriever_mix: Annotated[str, typer.Option(help=HELP_MIX)] = "tgh-2=1",
    peak_factor: Annotated[float, typer.Option(min=1, help="Busiest second against the mean.")] = 3.0,
    headroom: Annotated[float, typer.Option(min=0, max=0.9, help="Share that stays free at the peak.")] = 0.3,
    events_per_request: Annotated[float, typer.Option(min=0, help="Events written for each list.")] = 0.2,
    history: Annotated[int, typer.Option(min=1, help="Events kept a user.")] = 200,
    build_cores: Annotated[int, typer.Option(min=1, help="Of the machine that builds, or of a Spark executor.")] = 8,
    window_hours: Annotated[float, typer.Option(min=0.01, help="Time that a full build may take.")] = 4.0,
    api_cores: Annotated[int, typer.Option(min=1, help="Cores, so API processes, of one replica.")] = 4,
    redis_gib: Annotated[float, typer.Option(min=0.1, help="Memory of one Redis node.")] = 16.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Memory, disk, build time and replicas for a shop, from measured constants, with what is assumed.

    The constants stand in offline/plan/constants.toml, each beside the command that measured it.
    """
    if not math.isfinite(qps * peak_factor * max(1.0, events_per_request)):
        raise ConfigError(
            "--qps", found=f"{qps:g}", expected="a finite load at the peak", remedy="Correct the numbers."
        )
    constants = read_constants()
    shares = mix(retriever_mix, constants)
    shop = Shop(users, items, interactions, qps, shares, peak_factor, headroom, events_per_request, history)
    means = Means(build_cores, window_hours, api_cores, redis_gib)
    found = plan(shop, constants, means)
    if as_json:
        facts = {"machine": constants.machine, "assumptions": assumptions(shop, means, constants)}
        typer.echo(json.dumps(found.plain() | facts, indent=2))
    else:
        _show(found, shop, means, constants)


def assumptions(shop: Shop, means: Means, constants: Constants) -> list[str]:
    """What was not measured, or not at this size."""
    largest = constants.machine["largest_items"]
    told = [
        f"Times are those of {constants.machine['what']}; another machine's scale with its speed.",
        f"The busiest second has {shop.peak_factor:g} times the mean load; {shop.headroom:.0%} stay free then.",
        f"{shop.events_per_request:g} events are written for each list, fifty a call; every list reads a history and "
        "is written down.",
        f"{means.build_cores} cores do {constants.memory['scaling']:g} of {means.build_cores} times the work of one "
        "(assumed, as is that Spark's executors share a build's work evenly).",
        "A replica holds two versions of the bundle in memory while it swaps, three on disk.",
        f"A user's history has as many events as the log has for the user, at most {shop.history}.",
        "All gr requests go through one queue, which lies on one Redis node; so does each stream of records.",
        "Training is not part of the plan.",
    ]
    if shop.items > largest:
        told.append(f"Constants were checked up to {largest:,} items; beyond that the plan is carried on in a line.")
    return told


def _show(found: Plan, shop: Shop, means: Means, constants: Constants) -> None:
    table = Table("", "", title=f"{shop.items:,} items, {shop.interactions:,} interactions, {shop.users:,} users")
    for name, value in _rows(found, means):
        table.add_row(name, value)
    Console().print(table)
    for line in assumptions(shop, means, constants):
        typer.echo(f"* {line}")


def _rows(found: Plan, means: Means) -> Iterator[tuple[str, str]]:
    build, disk, api, workers, redis = found.build, found.disk, found.api, found.workers, found.redis
    slow = sorted(build.jobs_cpu_s.items(), key=lambda job: -job[1])[:3]
    most = ", ".join(f"{name} {seconds / 3600:,.2f}" for name, seconds in slow)
    yield "build, processor time", f"{build.cpu_s / 3600:,.2f} h ({most})"
    yield f"build, {means.build_cores} cores of one machine", f"{build.hours:,.2f} h, {_size(build.memory_mib)}"
    yield (
        f"build in {means.window_h:g} h",
        f"{build.executors:,} machines or Spark executors of {means.build_cores} cores",
    )
    yield "bundle", f"{_size(disk.bundle_mib)}; on a replica's disk {_size(disk.replica_mib)}"
    yield "logs, all hosts", f"{_size(disk.logs_a_day_mib)} a day"
    yield "state of updates", _size(disk.state_mib)
    yield "API at the peak", f"{api.peak_qps:,.0f} requests/s: {api.processes:,} processes"
    yield f"API replicas of {means.api_cores} cores", f"{api.replicas:,}, each {_size(api.replica_mib)}"
    yield "GR workers of one thread", f"{workers.count:,}, each {_size(workers.memory_mib)}"
    yield (
        f"Redis nodes of {means.redis_gib:g} GiB",
        f"{redis.nodes:,} ({_size(redis.memory_mib)}, {redis.core_share:,.2f} cores)",
    )


def _size(mib: float) -> str:
    """
    >>> _size(100), _size(2048), _size(3 * 2**20)
    ('100 MiB', '2.0 GiB', '3.0 TiB')
    """
    if mib < 1024:
        return f"{mib:,.0f} MiB"
    return f"{mib / 1024:,.1f} GiB" if mib < 1 << 20 else f"{mib / (1 << 20):,.1f} TiB"
