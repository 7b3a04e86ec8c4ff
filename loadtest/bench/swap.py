"""Another bundle begins to serve while requests are in flight."""

import itertools
import json
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from loadtest.asking import fetch_json, histories, popular_ids
from loadtest.bench.over_http import N_BODIES, N_IDS, write_bodies
from loadtest.bench.row import SERVER_CORE, Options, Row
from loadtest.running import Service, linked_copy, whole_service
from loadtest.wrk import Figures, Load, ask, require_wrk

POLL_S = 0.05
LONGEST_S = 60.0
SHARE_OF_CEILING = 0.5


def swap(options: Options) -> Iterator[Row]:
    """Failures and latency while versions are switched, against the same load without a switch.

    The load is half of what the service can answer, as a Poisson stream, so that latency is not the queue's.
    """
    require_wrk()
    with linked_copy(options.bundles) as bundles:
        versions = _two_versions(bundles)
        settings = {"bundle_poll_s": 0.2, "deadline_ms": 5000}
        with whole_service(bundles, core=SERVER_CORE, **settings) as service, tempfile.TemporaryDirectory() as folder:
            past = histories(popular_ids(service.url, N_IDS), N_BODIES)
            asked = [{"history": one, "k": options.k, "retriever": "tgh-2"} for one in past]
            file = write_bodies(Path(folder) / "bodies", asked)
            load = _half(service, file, options)
            steady = [ask(f"{service.url}/recommend", file, load, service.pid) for _ in range(options.rounds)]
            during, took = _switching(service, bundles, versions, file, load, options.rounds)
    yield Row("hot swap", "steady", _figures(steady))
    p99 = statistics.median(one.p99_ms for one in during) / statistics.median(one.p99_ms for one in steady)
    worst = max(one.worst_ms for one in during)
    figures = _figures(during) | {"p99 against steady": round(p99, 3), "worst_ms": worst, "swap_s": round(max(took), 2)}
    yield Row("hot swap", "while a bundle is switched", figures)


def _two_versions(bundles: Path) -> list[str]:
    """The current version and another with the same contents."""
    first = (bundles / "CURRENT").read_text().strip()
    second = first[:-1] + next(digit for digit in "01" if digit != first[-1])
    shutil.copytree(bundles / first, bundles / second, copy_function=os.link)
    manifest = bundles / second / "manifest.json"
    text = json.dumps(json.loads(manifest.read_text()) | {"version": second})
    manifest.unlink()
    manifest.write_text(text)
    return [second, first]


def _half(service: Service, file: Path, options: Options) -> Load:
    most = ask(f"{service.url}/recommend", file, options.load(), service.pid)
    most = ask(f"{service.url}/recommend", file, options.load(), service.pid)
    pause_ms = options.connections / (SHARE_OF_CEILING * most.rate) * 1e3 - most.p50_ms / options.connections
    return options.load(pause_ms=round(pause_ms, 2))


def _figures(found: list[Figures]) -> dict[str, float | str]:
    return {
        "per_s": round(statistics.median(one.rate for one in found), 1),
        "p50_ms": statistics.median(one.p50_ms for one in found),
        "p99_ms": statistics.median(one.p99_ms for one in found),
        "failed": sum(one.failed for one in found),
    }


def _switching(
    service: Service, bundles: Path, versions: list[str], file: Path, load: Load, rounds: int
) -> tuple[list[Figures], list[float]]:
    """A switch in each measurement; what it found, and how long each took until all processes served it."""
    found: list[Figures] = []
    took: list[float] = []
    with ThreadPoolExecutor(1) as beside:
        for version in itertools.islice(itertools.cycle(versions), rounds):
            switch = beside.submit(_switch, service, bundles, version)
            found.append(ask(f"{service.url}/recommend", file, load, service.pid))
            took.append(switch.result())
    return found, took


def _use(bundles: Path, version: str) -> None:
    """What `shortlist bundles use` does at its end: as a command of its own it would compete with what is measured."""
    beside = bundles / "CURRENT.next"
    beside.write_text(version + "\n")
    beside.replace(bundles / "CURRENT")


def _switch(service: Service, bundles: Path, version: str) -> float:
    """Seconds until it serves.

    Raises:
        SystemExit: it does not.
    """
    started = time.perf_counter()
    _use(bundles, version)
    while fetch_json(f"{service.url}/readyz")["bundle"] != version:
        if time.perf_counter() - started > LONGEST_S:
            raise SystemExit(f"{version} did not begin to serve within {LONGEST_S:g} s")
        time.sleep(POLL_S)
    return time.perf_counter() - started
