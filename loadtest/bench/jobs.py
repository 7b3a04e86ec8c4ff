"""Build jobs on logs of growing size: time and memory of each, and time per 100,000 interactions."""

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from loadtest.bench.growth import grow_interactions, grow_items
from loadtest.bench.row import Options, Row
from loadtest.machine import one_thread
from loadtest.running import ROOT, SHORTLIST

JOB = re.compile(r"(?m)^(\S+)\s+([\d.]+) s\s+([\d.]+) s CPU\s+([\d,]+) MiB peak")
"""How a build reports a finished job."""


def jobs(options: Options) -> Iterator[Row]:
    """Every job of `shortlist build` at each factor of growth, as it ends: large ones take long."""
    if options.interactions is None:
        yield Row("build jobs", "left out: no --interactions")
        return
    for factor in options.growth:
        with tempfile.TemporaryDirectory(dir=options.out) as folder:
            yield from _build(options, factor, Path(folder))


def _build(options: Options, factor: int, folder: Path) -> Iterator[Row]:
    assert options.interactions is not None
    log = folder / "interactions.parquet"
    rows = grow_interactions(options.interactions, factor, log)
    command = [*SHORTLIST, "build", "--interactions", str(log), "--bundles", str(folder / "bundles")]
    if options.items is not None:
        grow_items(options.items, factor, folder / "items.parquet")
        command += ["--items", str(folder / "items.parquet")]
    environment, last = os.environ | one_thread(), ""
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as running:
        for line in running.stdout or ():
            last = line.strip() or last
            if found := JOB.match(line):
                yield _row(found, factor, rows)
    if running.returncode:
        yield Row("build jobs", f"{factor}x: failed", {"why": last})


def _row(found: re.Match[str], factor: int, rows: int) -> Row:
    job, wall, cpu, peak = found.groups()
    figures: dict[str, float | str] = {
        "interactions": rows,
        "wall_s": float(wall),
        "cpu_s": float(cpu),
        "cpu_s per 100k": round(float(cpu) / rows * 1e5, 3),
        "peak_mib": float(peak.replace(",", "")),
    }
    return Row("build jobs", f"{job}, {factor}x", figures)
