"""Jobs at sizes that no public log has: the graph against merely reading and sorting the same file with the same
engine, and ring lists of a synthetic shop of growing size."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb

from loadtest.bench.jobs import JOB
from loadtest.bench.row import Options, Row
from loadtest.machine import one_thread
from loadtest.running import ROOT, SHORTLIST, run_shortlist

ITEMS, PER_USER = 1_000_000, 10
MEMORY = "8GB"
SORT = """
import duckdb, resource, sys, time
log, threads, memory, spill = sys.argv[1:]
engine = duckdb.connect(config={"threads": threads, "memory_limit": memory, "temp_directory": spill})
engine.execute("set enable_progress_bar = false")
started = time.perf_counter()
engine.execute(f"create temp table sorted as select * from read_parquet('{log}') order by user_id, timestamp")
wall, used = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF)
print(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""


def write_log(path: Path, rows: int) -> None:
    """Random interactions: users of ten on average, the most popular item of a million about a thousand times as
    frequent as the median one; deterministic."""
    with duckdb.connect() as engine:
        engine.execute("set preserve_insertion_order = false; set enable_progress_bar = false")
        engine.execute(f"""
            copy (
                select 'u' || (hash(n) % {max(1, rows // PER_USER)}) as user_id,
                    'i' || cast(floor({ITEMS} * pow((hash(n, 1) % 16777216) / 16777216.0, 2)) as integer) as item_id,
                    1600000000 + hash(n, 2) % 100000000 as timestamp
                from range({rows}) as numbers(n)
            ) to '{path}' (format parquet)""")


def run(command: list[str]) -> str:
    """What a process printed.

    Raises:
        SystemExit: it failed.
    """
    environment = os.environ | one_thread()
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command[:6])} failed:\n{done.stderr[-2000:]}")
    return done.stdout + done.stderr


def graph(options: Options) -> Iterator[Row]:
    """Jobs `items` and `graph` of a log of each size, and the engine's own reading and sorting of the file."""
    for rows in options.log_rows:
        with tempfile.TemporaryDirectory(dir=options.out) as name:
            folder = Path(name)
            yield from _graph(rows, folder, os.cpu_count() or 1)


def _graph(rows: int, folder: Path, threads: int) -> Iterator[Row]:
    log, config = folder / "log.parquet", folder / "build.toml"
    write_log(log, rows)
    config.write_text(f'[engine]\nthreads = {threads}\nmemory_limit = "{MEMORY}"\n')
    sort = [sys.executable, "-c", SORT, str(log), str(threads), MEMORY, str(folder / "spill")]
    sort_s, sort_cpu_s, sort_mib = map(float, run(sort).split())
    part, size = "graph of synthetic logs", f"{rows:,} interactions"
    sorting = {"wall_s": round(sort_s, 1), "cpu_s": round(sort_cpu_s, 1), "peak_mib": round(sort_mib)}
    yield Row(part, f"{size}: read and sort", {**sorting})
    for job in ("items", "graph"):
        command = [*SHORTLIST, "job", job, "--interactions", str(log), "--bundles", str(folder / "bundles")]
        found = {
            name: (float(wall), float(cpu), float(peak.replace(",", "")))
            for name, wall, cpu, peak in JOB.findall(run([*command, "--config", str(config)]))
        }
        took, cpu_s, peak_mib = found[job]
        figures: dict[str, float | str] = {"wall_s": took, "cpu_s": cpu_s, "peak_mib": peak_mib}
        ratios = {"against sorting": round(took / sort_s, 2), "by processor time": round(cpu_s / sort_cpu_s, 2)}
        yield Row(part, f"{size}: job {job}", figures | ratios)


def rings(options: Options) -> Iterator[Row]:
    """Ring lists of a synthetic shop of each size, mean out-degree 10, at most 200; exact, and capped so that the
    recall of probed rings against exact ones shows."""
    for walks in options.ring_walks:
        first: float | None = None
        for items in options.ring_items:
            limit = () if walks is None else ("--max-walks", str(walks))
            found = json.loads(run_shortlist("bench", "rings", "--items", str(items), *limit))
            first = first or found["cpu_seconds"]
            yield _ring_row(f"{items:,} items" + (f", {walks:,} edges" if limit else ""), found, first)


def _ring_row(what: str, found: dict[str, Any], first: float) -> Row:
    recall = {
        f"{ring} {name}": round(value, 3)
        for ring, values in found["probe_recall"].items()
        for name, value in values.items()
    }
    figures = {name: found[name] for name in ("edges", "seconds", "cpu_seconds", "peak_mib")}
    growth = {"cpu against the first": round(found["cpu_seconds"] / first, 2)}
    probed = {f"probed {ring}": count for ring, count in found["probed_anchors"].items()}
    return Row("ring lists of synthetic shops", what, figures | growth | probed | recall)
