"""`shortlist plan` against measurements: a synthetic shop of each size is built and served.

    python -m loadtest.plan_check --sizes 10000,30000,100000 --folder plan

Each size has ten interactions an item. Times are processor seconds of one thread, so that other programs disturb them
less than the clock; all predictions of time are scaled by how long one short loop takes here against the machine that
the constants come from. A build that lies in the folder already is not made again. Exits 1 where a prediction is more
than 30 % off.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from loadtest.asking import histories, popular_ids
from loadtest.bench.jobs import JOB
from loadtest.bench.over_http import N_BODIES, N_IDS, write_bodies
from loadtest.bench.row import Row, table
from loadtest.machine import memory, one_thread
from loadtest.running import ROOT, SHORTLIST, run_shortlist, whole_service
from loadtest.synthetic import PER_USER, write_shop
from loadtest.wrk import Load, ask, require_wrk

ROWS_AN_ITEM = 10
TOLERANCE = 0.3
LOOPS = 5
MIB = 1 << 20
RETRIEVER = "tgh-2"


def loop_ms() -> float:
    """Processor time of a fixed piece of work, the least of five, in milliseconds."""
    took = []
    for _ in range(LOOPS):
        started = time.process_time()
        sum(number * number % 7 for number in range(1_000_000))
        took.append((time.process_time() - started) * 1000)
    return min(took)


def measure(folder: Path, items: int) -> dict[str, float]:
    """Processor seconds of each job and of all, MiB of the build, of the bundle and of an API process, microseconds a
    request."""
    folder.mkdir(parents=True, exist_ok=True)
    log = _built(folder, items)
    found = {f"job {name}, s": float(cpu) for name, _, cpu, _ in JOB.findall(log) if name != "all"}
    peaks = [float(peak.replace(",", "")) for _, _, _, peak in JOB.findall(log)]
    total = sum(found.values())
    bundle = sum(path.stat().st_size for path in (folder / "bundles").rglob("*") if path.is_file()) / MIB
    return found | {"build, s": total, "build, MiB": max(peaks), "bundle, MiB": bundle} | _served(folder)


def _built(folder: Path, items: int) -> str:
    log = folder / "log"
    if not log.exists():
        interactions, catalogue = write_shop(folder, items, ROWS_AN_ITEM * items)
        command = [*SHORTLIST, "build", "--interactions", str(interactions), "--items", str(catalogue)]
        command += ["--bundles", str(folder / "bundles")]
        done = subprocess.run(
            command, cwd=ROOT, env=os.environ | one_thread(), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"the build of {items:,} items failed:\n{done.stderr[-2000:]}")
        log.write_text(done.stdout + done.stderr)
    return log.read_text()


def _served(folder: Path) -> dict[str, float]:
    settings = {"workers": 2, "gr_workers": 0, "deadline_ms": 5000}
    with whole_service(folder / "bundles", **settings) as service:
        past = histories(popular_ids(service.url, N_IDS), N_BODIES)
        bodies = [{"history": one, "k": 50, "retriever": RETRIEVER, "user_id": "u"} for one in past]
        file = write_bodies(folder / "bodies", bodies)
        costs = [ask(f"{service.url}/recommend", file, Load(seconds=3), service.pid).cpu_us for _ in range(2)]
        own = [memory(pid).own for pid in service.api_pids()]
    return {"API process, own MiB": max(own), f"{RETRIEVER}, us": min(costs)}


def predict(items: int, speed: float) -> dict[str, float]:
    """The same from the plan, times scaled to this machine."""
    rows = ROWS_AN_ITEM * items
    sizes = ("--users", str(rows // PER_USER), "--items", str(items), "--interactions", str(rows))
    plan = json.loads(run_shortlist("plan", *sizes, "--qps", "1", "--retriever-mix", f"{RETRIEVER}=1", "--json"))
    jobs = {f"job {name}, s": seconds * speed for name, seconds in plan["build"]["jobs_cpu_s"].items()}
    return jobs | {
        "build, s": plan["build"]["cpu_s"] * speed,
        "build, MiB": plan["build"]["memory_mib"],
        "bundle, MiB": plan["disk"]["bundle_mib"],
        "API process, own MiB": plan["api"]["own_mib"],
        f"{RETRIEVER}, us": plan["api"]["request_us"][RETRIEVER] * speed,
    }


def compare(measured: dict[str, float], predicted: dict[str, float], items: int) -> Iterator[Row]:
    """A line a figure: measured, predicted, their ratio."""
    for name, found in measured.items():
        told = predicted[name]
        figures = {"measured": round(found, 2), "predicted": round(told, 2)}
        figures["predicted / measured"] = round(told / max(found, 0.01), 2)
        yield Row(f"{items:,} items, {ROWS_AN_ITEM * items:,} interactions", name, figures)


def off(rows: list[Row]) -> list[str]:
    """Figures that the plan misses; single jobs are shown and not judged."""
    judged = [row for row in rows if not row.what.startswith("job ")]
    return [
        f"{row.part}: {row.what}" for row in judged if abs(float(row.figures["predicted / measured"]) - 1) > TOLERANCE
    ]


def main() -> None:
    """Measure, predict, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=lambda text: tuple(map(int, text.split(","))), default=(10_000, 100_000))
    parser.add_argument("--folder", type=Path, default=Path("plan"), help="what is built stays here")
    chosen = parser.parse_args()
    require_wrk()
    smallest = ("--users", "1", "--items", "1", "--interactions", "1", "--qps", "1")
    speed = loop_ms() / json.loads(run_shortlist("plan", *smallest, "--json"))["machine"]["loop_ms"]
    print(f"this machine takes {speed:.2f} of the time that the constants' machine took for one loop")
    rows: list[Row] = []
    for items in chosen.sizes:
        found = list(compare(measure(chosen.folder / str(items), items), predict(items, speed), items))
        print(table(found), flush=True)
        rows += found
    if missed := off(rows):
        sys.exit(f"more than {TOLERANCE:.0%} off: {'; '.join(missed)}")


if __name__ == "__main__":
    main()
