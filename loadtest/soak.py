"""Ten minutes (or any time) at a share of what the service can answer: no error, flat memory, steady latency.

    python -m loadtest.soak --bundles DIR [--minutes 10] [--share 0.7] [--retriever tgh-2]

Measures the ceiling with wrk, then asks at that share of it as a Poisson-like stream, in windows of half a minute, and
prints rate, latency, failures and the API processes' own memory of each. The server runs on core 0, wrk on core 1. The
exit code is 1 where a request failed, the second half's memory lies more than 5 % above the first's, or the second
half's median 99th percentile lies more than half above the first's; 3 where wrk was the limit.
"""

import argparse
import json
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from loadtest.asking import histories, popular_ids
from loadtest.bench.over_http import N_BODIES, N_IDS, write_bodies
from loadtest.bench.row import CLIENT_CORE, SERVER_CORE
from loadtest.machine import memory
from loadtest.running import Service, whole_service
from loadtest.storefront.judge import BROKEN, NOT_MEASURED
from loadtest.wrk import Figures, Load, ask, require_wrk

WINDOW_S, CEILING_S, CONNECTIONS = 30, 5, 64
MEMORY_GROWTH, P99_GROWTH = 1.05, 1.5


@dataclass(frozen=True)
class Window:
    """Half a minute: what was found, and the API processes' own memory at its end, in MiB."""

    figures: Figures
    own_mib: float


def ceiling(service: Service, bodies: Path) -> Figures:
    """The best of three measurements without pauses, after one that warms up."""
    found = [
        ask(f"{service.url}/recommend", bodies, Load(16, CEILING_S, core=CLIENT_CORE), service.pid) for _ in range(4)
    ]
    return max(found[1:], key=lambda one: one.rate)


def windows(service: Service, bodies: Path, rate: float, minutes: float) -> list[Window]:
    """Half minutes at about that rate; the first only finds the pause that gives it."""
    pause_ms, found = CONNECTIONS / rate * 1e3, list[Window]()
    for number in range(round(minutes * 60 / WINDOW_S) + 1):
        load = Load(CONNECTIONS, WINDOW_S if number else CEILING_S, round(pause_ms, 2), CLIENT_CORE)
        figures = ask(f"{service.url}/recommend", bodies, load, service.pid)
        pause_ms = max(0.1, pause_ms + (figures.rate - rate) / rate * CONNECTIONS / rate * 1e3)
        if number:
            found.append(Window(figures, sum(memory(pid).own for pid in service.api_pids())))
            print(
                f"{number:3}: {json.dumps(figures.plain() | {'own_mib': round(found[-1].own_mib, 1)})}",
                flush=True,
            )
    return found


def judge(found: list[Window], most: Figures) -> int:
    """Print what became of it; the exit code."""
    half = len(found) // 2
    parts = (found[:half], found[half:])
    early, late = (statistics.median(one.figures.p99_ms for one in part) for part in parts)
    before, after = (statistics.median(one.own_mib for one in part) for part in parts)
    failed = sum(one.figures.failed for one in found)
    rate = statistics.mean(one.figures.rate for one in found)
    print(f"ceiling {most.rate:,.0f}/s, asked {rate:,.0f}/s ({rate / most.rate:.0%}), failed {failed}; "
          f"p99 {early:.2f} -> {late:.2f} ms; memory {before:.1f} -> {after:.1f} MiB")  # fmt: skip
    if any(one.figures.saturated for one in found):
        print("SATURATED: wrk was the limit; these figures are its own")
        return NOT_MEASURED
    broken = failed or after > MEMORY_GROWTH * before or late > P99_GROWTH * early
    return BROKEN if broken else 0


def main() -> int:
    """Start, measure, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundles", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--share", type=float, default=0.7, help="of the ceiling")
    parser.add_argument("--retriever", default="tgh-2")
    parser.add_argument("--k", type=int, default=50)
    options = parser.parse_args()
    require_wrk()
    with whole_service(options.bundles, core=SERVER_CORE) as service, tempfile.TemporaryDirectory() as folder:
        past = histories(popular_ids(service.url, N_IDS), N_BODIES)
        asked = [
            {"user_id": f"u{number}", "history": one, "k": options.k, "retriever": options.retriever}
            for number, one in enumerate(past)
        ]
        bodies = write_bodies(Path(folder) / "bodies", asked)
        most = ceiling(service, bodies)
        found = windows(service, bodies, options.share * most.rate, options.minutes)
    return judge(found, most)


if __name__ == "__main__":
    sys.exit(main())
