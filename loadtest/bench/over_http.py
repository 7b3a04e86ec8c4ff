"""Over HTTP, in one server process: every retriever, the same with history from Redis, with narrow filters and long
exclusions, each in turn with the routes that answer stored bytes."""

import json
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

from loadtest.asking import catalogue, fetch, fetch_json, histories, popular_ids
from loadtest.bench.row import SERVER_CORE, Options, Row
from loadtest.running import Service, beside_bare, redis_server
from loadtest.wrk import Figures, Load, ask, require_wrk

BARE, RAW, PLAIN = "bare FastAPI route", "bare ASGI app", "unfiltered"
N_BODIES, N_IDS, N_EXCLUDED, N_SAMPLED = 2000, 2000, 1000, 10_000
EVENTS_A_CALL, TRIES, PAUSE_S = 200, 50, 0.5
DEADLINE_MS = 5000
"""Long enough that nothing falls back: what is measured is the retriever that was asked for."""


@dataclass(frozen=True)
class Target:
    """What is asked.

    Attributes:
        path: below the server's address.
        bodies: file of JSON bodies, one a line.
        base: name of the target that it is compared with, None = it is itself what others are compared with.
    """

    path: str
    bodies: Path
    base: str | None = None


def write_bodies(path: Path, bodies: list[dict[str, Any]]) -> Path:
    """A file for wrk."""
    path.write_text("\n".join(map(json.dumps, bodies)) + "\n")
    return path


def compare(service: Service, targets: Mapping[str, Target], load: Load, rounds: int) -> dict[str, list[Figures]]:
    """Ask all in turn, one after another in each round, after a second of warming up each."""
    for target in targets.values():
        ask(service.url + target.path, target.bodies, Load(load.connections, 1, core=load.core), service.pid)
    found: dict[str, list[Figures]] = {name: [] for name in targets}
    for _ in range(rounds):
        for name, target in targets.items():
            found[name].append(ask(service.url + target.path, target.bodies, load, service.pid))
    return found


def ratio(found: Mapping[str, list[Figures]], name: str, base: str, figure: str) -> float:
    """Median of the rounds' ratios of a figure."""
    pairs = zip(found[name], found[base], strict=True)
    return round(statistics.median(getattr(mine, figure) / getattr(other, figure) for mine, other in pairs), 3)


def row(part: str, name: str, found: Mapping[str, list[Figures]], base: str | None) -> Row:
    """The best round, and the medians of the rounds' ratios to what it is compared with."""
    best = max(found[name], key=lambda one: one.rate)
    figures: dict[str, float | str] = {
        "per_s": round(best.rate, 1),
        "p50_ms": best.p50_ms,
        "p99_ms": best.p99_ms,
        "cpu_us": round(min(one.cpu_us for one in found[name]), 1),
        "failed": sum(one.failed for one in found[name]),
        "generator": f"{best.generator:.0%}" + (" SATURATED" if best.saturated else ""),
    }
    if base is not None:
        figures |= {
            "against": base,
            "throughput": ratio(found, name, base, "rate"),
            "p99": ratio(found, name, base, "p99_ms"),
            "by cpu": round(min(o.cpu_us for o in found[base]) / min(m.cpu_us for m in found[name]), 3),
        }
    return Row(part, name, figures)


def _rows(
    part: str, service: Service, targets: dict[str, Target], options: Options, rounds: int | None = None
) -> Iterator[Row]:
    found = compare(service, targets, options.load(), rounds or options.rounds)
    for name, target in targets.items():
        yield row(part, name, found, target.base)


def retrievers(options: Options) -> Iterator[Row]:
    """Every retriever that one process serves, against a FastAPI route and an ASGI application with the same bytes."""
    require_wrk()
    settings = {"deadline_ms": DEADLINE_MS, "search_threads": 1}
    with beside_bare(options.bundles, core=SERVER_CORE, **settings) as service, tempfile.TemporaryDirectory() as folder:
        past = histories(popular_ids(service.url, N_IDS), N_BODIES)
        for name in options.chosen(service.retrievers):
            asked = [
                {"user_id": f"u{number}", "history": history, "k": options.k, "retriever": name}
                for number, history in enumerate(past)
            ]
            file = write_bodies(Path(folder) / "bodies", asked)
            answer = fetch(f"{service.url}/recommend", json.dumps(asked[0]).encode())
            fetch(f"{service.url}/bare/answer", answer, "PUT")
            targets = {
                BARE: Target("/bare/recommend", file),
                RAW: Target("/raw/recommend", file, BARE),
                name: Target("/recommend", file, BARE),
            }
            yield from _rows(f"over HTTP: {name}", service, targets, options)


def _store(service: Service, past: list[list[str]]) -> None:
    events = [
        {"event_id": f"{user}-{at}", "user_id": f"u{user}", "item_id": item, "timestamp": f"2026-01-01T00:00:{at:02}Z"}
        for user, history in enumerate(past)
        for at, item in enumerate(history)
    ]
    for first in range(0, len(events), EVENTS_A_CALL):
        _send(service, events[first : first + EVENTS_A_CALL])


def _send(service: Service, events: list[dict[str, Any]]) -> None:
    """Events, again while the store is too busy; an event that was taken twice counts once."""
    for _ in range(TRIES):
        try:
            fetch_json(f"{service.url}/events", events)
        except HTTPError as error:
            if error.code != HTTPStatus.SERVICE_UNAVAILABLE:
                raise
            time.sleep(PAUSE_S)
        else:
            return
    raise SystemExit("the service took no events: is the machine too busy?")


def history(options: Options) -> Iterator[Row]:
    """The same requests with the history in the body, and read from Redis, which runs on the generator's core."""
    require_wrk()
    with redis_server() as redis, tempfile.TemporaryDirectory() as folder:
        settings = {"redis_url": redis, "data_dir": folder, "deadline_ms": DEADLINE_MS}
        with beside_bare(options.bundles, core=SERVER_CORE, **settings) as service:
            past = histories(popular_ids(service.url, N_IDS), N_BODIES)
            _store(service, past)
            common = {"k": options.k, "retriever": "tgh-2"}
            given = [{"user_id": f"u{user}", "history": one, **common} for user, one in enumerate(past)]
            stored = [{"user_id": f"u{user}", **common} for user in range(len(past))]
            _require_history(service, stored[0], past[0])
            here, there = write_bodies(Path(folder) / "given", given), write_bodies(Path(folder) / "stored", stored)
            in_body = "history in the body"
            targets = {
                in_body: Target("/recommend", here),
                "history from Redis": Target("/recommend", there, in_body),
            }
            yield from _rows("history", service, targets, options)


def _require_history(service: Service, asked: dict[str, Any], past: list[str]) -> None:
    """What is measured must be what was meant."""
    same = fetch_json(f"{service.url}/recommend", asked | {"history": past})["items"]
    found = fetch_json(f"{service.url}/recommend", asked)
    if found["items"] != same:
        raise SystemExit(f"the stored history was not read: {found['retriever']}")


def narrow(options: Options) -> Iterator[Row]:
    """Requests whose filter keeps about 1 % of the catalogue, and requests with 1,000 exclusions."""
    require_wrk()
    settings = {"deadline_ms": DEADLINE_MS}
    with beside_bare(options.bundles, core=SERVER_CORE, **settings) as service, tempfile.TemporaryDirectory() as folder:
        items = catalogue(service.url, N_SAMPLED)
        ids = [item["item_id"] for item in items[:N_IDS]]
        rule, share = one_percent(items)
        few = f"filter keeps {share:.1%}"
        many = f"{N_EXCLUDED:,} exclusions"
        past = histories(ids, N_BODIES)
        for name in options.chosen(service.retrievers):
            plain = [{"history": one, "k": options.k, "retriever": name} for one in past]
            targets = {
                PLAIN: Target("/recommend", write_bodies(Path(folder) / "plain", plain)),
                few: Target("/recommend", _with(plain, Path(folder) / "few", filter=rule), PLAIN),
                many: Target("/recommend", _with(plain, Path(folder) / "many", exclude=ids[-N_EXCLUDED:]), PLAIN),
            }
            yield from _rows(f"filters and exclusions: {name}", service, targets, options)


def _with(plain: list[dict[str, Any]], path: Path, **more: Any) -> Path:
    return write_bodies(path, [body | more for body in plain])


def one_percent(items: list[dict[str, Any]]) -> tuple[dict[str, Any], float]:
    """A rule that about 1 % of the items satisfy, by price or, where there are none, by brand; and the true share.

    >>> one_percent([{"price": n / 10, "brand": None} for n in range(1000)])
    ({'price': {'gte': 50.0, 'lte': 50.9}}, 0.01)
    """
    wanted = max(1, len(items) // 100)
    prices = sorted(item["price"] for item in items if item["price"] is not None)
    if len(prices) >= wanted:
        low = prices[len(prices) // 2]
        high = prices[min(len(prices) // 2 + wanted, len(prices)) - 1]
        kept = sum(low <= price <= high for price in prices)
        return {"price": {"gte": low, "lte": high}}, kept / len(items)
    brands = Counter(item["brand"] for item in items if item["brand"] is not None)
    brand, kept = min(brands.items(), key=lambda one: abs(one[1] - wanted))
    return {"brand": [brand]}, kept / len(items)
