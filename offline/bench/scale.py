"""Time and memory of reading and counting by engine, and of an update against a build, on synthetic interactions.

`python -m offline.bench.scale engines --rows 1000000 --engine spark --master local[2]`
`python -m offline.bench.scale update --rows 1000000 --share 0.01`
`python -m offline.bench.scale shop --items 1000000 --bundles DIR` builds a bundle of that size to serve.
"""

import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import typer

from models.bundle import layout
from offline.bench.rings import Shape, synthetic_texts
from offline.build import Request, build
from offline.config import BuildConfig, EngineKind, EngineRules
from offline.dataset import Inputs, read_dataset
from offline.increment.run import UpdateRequest, update
from offline.jobs import embeddings, id_vectors, neighbours
from offline.jobs.base import Context, Facts
from offline.jobs.catalog import JOBS
from offline.measure import measured
from offline.progress import Reporter

app = typer.Typer(add_completion=False)

PART_ROWS = 1_000_000
ROWS_A_USER, ROWS_AN_ITEM, SHELF = 10, 50, 100
"""Everybody keeps to a few shelves of items, whose popularity falls off like 1 / rank."""

Rows = Annotated[int, typer.Option("--rows", min=1000, help="Interactions.")]


def interactions(folder: Path, rows: int, *, seed: int, of: int | None = None) -> Path:
    """Parquet parts of synthetic interactions: user_id, item_id, timestamp (s).

    Args:
        folder: where the parts go.
        rows: how many.
        seed: of the generator.
        of: size of the shop they belong to, as rows; None = `rows`.
    """
    folder.mkdir()
    generator, shop = np.random.default_rng(seed), of or rows
    for part, first in enumerate(range(0, rows, PART_ROWS)):
        table = _part(generator, min(PART_ROWS, rows - first), shop, day=0 if of is None else 400)
        pq.write_table(table, folder / f"part-{part:05}.parquet")
    return folder


def _part(generator: np.random.Generator, rows: int, shop: int, *, day: int) -> pa.Table:
    users = generator.integers(0, max(1, shop // ROWS_A_USER), rows)
    shelves = max(1, shop // ROWS_AN_ITEM // SHELF)
    shelf = (users * 7 + generator.integers(0, 3, rows)) % shelves
    ranks = (SHELF ** generator.random(rows)).astype(np.int64) - 1
    times = 1_700_000_000 + 86_400 * day + generator.integers(0, 86_400 if day else 86_400 * 365, rows)
    columns: dict[str, npt.NDArray[np.int64]] = {"user_id": users, "item_id": shelf * SHELF + ranks, "timestamp": times}
    return pa.table({name: pa.array(values) for name, values in columns.items()})


@app.command()
def engines(
    rows: Rows,
    engine: EngineKind = EngineKind.DUCKDB,
    master: str | None = None,
    memory: str = "4GB",
    threads: int = 2,
) -> None:
    """Read, place, split and count synthetic interactions with one engine."""
    rules = EngineRules(kind=engine, master=master, memory_limit=memory, threads=threads)
    config = BuildConfig.model_validate({"split": "leave-last-out", "engine": rules.model_dump()})
    with tempfile.TemporaryDirectory(prefix="shortlist-scale-") as folder:
        source = interactions(Path(folder) / "rows", rows, seed=1)
        if engine is EngineKind.SPARK:
            _start(rules)
        java = _java(rules) if engine is EngineKind.SPARK else Java(0.0, 0.0)
        with measured() as cost, read_dataset(Inputs((source,)), config) as data:
            edges, popular = len(data.transitions().counts), int(data.popularity().sum())
            told = data.statistics()
        if engine is EngineKind.SPARK:
            java = Java(_java(rules).cpu_seconds - java.cpu_seconds, _java(rules).peak_mib)
    typer.echo(
        f"{engine} {rows:,} rows: {cost.seconds:.1f} s, {cost.cpu_seconds:.1f} s CPU + Java {java.cpu_seconds:.1f}, "
        f"{cost.peak_mib:.0f} MiB + Java {java.peak_mib:.0f}; {told['users']:,} users, {told['items']:,} items, "
        f"{edges:,} edges, {popular:,} training interactions"
    )


def _start(rules: EngineRules) -> None:
    from offline.spark.session import open_session

    open_session(rules).range(1).count()


class Java(NamedTuple):
    """What Spark's virtual machine has taken."""

    cpu_seconds: float
    peak_mib: float


def _java(rules: EngineRules) -> Java:
    from offline.spark.session import open_session

    process: Any = open_session(rules).sparkContext._gateway.proc
    folder = Path(f"/proc/{process.pid}")
    user, system = (folder / "stat").read_text().rsplit(")", 1)[1].split()[11:13]
    peak = next(line for line in (folder / "status").read_text().splitlines() if line.startswith("VmHWM"))
    return Java((int(user) + int(system)) / os.sysconf("SC_CLK_TCK"), int(peak.split()[1]) / 1024)


@app.command(name="update")
def update_command(rows: Rows, share: float = 0.01, threads: int = 1) -> None:
    """Build on all but a last day's share of rows, update with it, and build on everything."""
    config = BuildConfig.model_validate({"engine": {"threads": threads, "memory_limit": "4GB"}})
    reporter = Reporter()
    jobs = [job for job in JOBS if job is not id_vectors.JOB]
    with tempfile.TemporaryDirectory(prefix="shortlist-scale-") as name:
        folder = Path(name)
        old = interactions(folder / "old", rows, seed=1)
        day = interactions(folder / "day", round(rows * share), seed=2, of=rows)
        items = _catalogue(folder / "items.parquet", rows)
        build(Request(folder / "b", config, Inputs((old,), items), state=folder / "state"), reporter, jobs)
        with measured() as short:
            update(UpdateRequest(folder / "b", folder / "state", Inputs((day,))), reporter)
        with measured() as whole:
            build(Request(folder / "b", config, Inputs((old, day), items)), reporter, jobs)
    typer.echo(
        f"{rows:,} rows, {share:.1%} new: update {short.seconds:.1f} s ({short.cpu_seconds:.1f} s CPU, "
        f"{short.peak_mib:.0f} MiB), build without id-vectors {whole.seconds:.1f} s ({whole.cpu_seconds:.1f} s CPU, "
        f"{whole.peak_mib:.0f} MiB): {whole.cpu_seconds / short.cpu_seconds:.1f} times the processor time"
    )


@app.command()
def shop(
    items: Annotated[int, typer.Option(min=SHELF)], bundles: Annotated[Path, typer.Option()], rows_an_item: int = 5
) -> None:
    """Build a bundle of a synthetic shop: its own texts would take long to encode, so vectors are drawn."""

    def vectors(context: Context) -> Facts:
        shape = Shape(items=context.writer.read_array(layout.AVAILABLE).shape[0])
        found, nearest = synthetic_texts(shape, np.random.default_rng(7))
        context.writer.add_array(layout.TEXT_NEIGHBOURS, nearest)
        return embeddings.write_embeddings(context, found, {"source": "synthetic"})

    drawn = replace(embeddings.JOB, run=vectors, writes=(layout.EMBEDDINGS, layout.TEXT_NEIGHBOURS))
    left_out = (id_vectors.JOB, neighbours.JOB)
    jobs = [drawn if job is embeddings.JOB else job for job in JOBS if job not in left_out]
    with tempfile.TemporaryDirectory(prefix="shortlist-scale-") as name:
        folder, rows = Path(name), items * ROWS_AN_ITEM
        log = interactions(folder / "rows", items * rows_an_item, seed=1, of=rows)
        table = pq.read_table(_catalogue(folder / "titles.parquet", rows))
        pq.write_table(_described(table), folder / "items.parquet")
        config = BuildConfig.model_validate({"engine": {"threads": 2, "memory_limit": "4GB"}})
        build(Request(bundles, config, Inputs((log,), folder / "items.parquet")), Reporter(), jobs)


def _described(items: pa.Table) -> pa.Table:
    """A catalogue with brands, prices and categories, too."""
    numbers = np.arange(len(items))
    brands = [f"brand {number}" for number in (numbers % (len(items) // SHELF)).tolist()]
    paths = [f"department {number % 20} > shelf {number}" for number in (numbers // SHELF).tolist()]
    items = items.append_column("brand", pa.array(brands)).append_column("categories", pa.array(paths))
    return items.append_column("price", pa.array(1 + numbers % 997 / 10))


def _catalogue(path: Path, rows: int) -> Path:
    n_items = max(1, rows // ROWS_AN_ITEM // SHELF) * SHELF
    generator = np.random.default_rng(3)
    words = [f"{one} {two}" for one in ("red", "green", "small", "old") for two in ("tea", "cup", "lamp", "book")]
    titles = [f"{words[n // SHELF % 16]} {number}" for n, number in enumerate(generator.permutation(n_items).tolist())]
    pq.write_table(pa.table({"item_id": [str(n) for n in range(n_items)], "title": titles}), path)
    return path


if __name__ == "__main__":
    app()
